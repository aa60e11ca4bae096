// What TypeScript 4.8 does not know of browsers yet.
declare class DecompressionStream {
  constructor(format: string);
  readable: any;
  writable: any;
}
