// @ts-check
// Paper: the summary and the open tab, in the light colours, without what can only be clicked. The
// style hides the rest; canvases have to be drawn anew, and the tab has to say what it shows.
import { byId, make } from "./elements/dom.js";
import { TABS } from "./tabs.js";

export class Paper {
  /** @param {() => {views: import("./views.js").Views, tab: string}} shown */
  constructor(shown) {
    this.shown = shown;
    /** @type {HTMLElement | null} */
    this.title = null;
    addEventListener("beforeprint", () => this.begin());
    addEventListener("afterprint", () => this.end());
  }

  begin() {
    if (this.title) return;
    const { views, tab } = this.shown();
    document.documentElement.dataset.printing = "yes";
    const [, text] = TABS.find(([id]) => id === tab) || ["", ""];
    this.title = make("h2", "", text);
    if (!byId("scope").hidden) this.title?.append(make("small", "", byId("say").firstChild ? sentence() : ""));
    if (tab !== "summary") byId(tab).prepend(this.title);
    draw(views, tab);
  }

  end() {
    const { views, tab } = this.shown();
    delete document.documentElement.dataset.printing;
    this.title?.remove();
    this.title = null;
    draw(views, tab);
  }
}

/** The moment shown, without what can be clicked. */
function sentence() {
  const say = byId("say").cloneNode(true);
  for (const button of say.querySelectorAll("button")) button.remove();
  return say.textContent.replace(/ Drag below.*$/, "");
}

/**
 * @param {import("./views.js").Views} views
 * @param {string} tab
 */
function draw(views, tab) {
  views.recolour();
  if (tab !== "summary") views.of.summary.show(views.colours);
  views.draw(tab);
}
