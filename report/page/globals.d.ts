// Parts of browsers that TypeScript 4.8 does not know.
declare class DecompressionStream {
  constructor(format: string);
  readable: any;
  writable: any;
}

interface Array<T> {
  findLastIndex(is: (one: T, index: number) => boolean): number;
}
