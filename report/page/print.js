// @ts-check
// Paper: the summary and the open tab, in the light colours, without elements for the pointer. The
// style hides the rest; canvases have to be drawn anew, and the tab gets its name and moment.
import { byId, make } from "./elements/dom.js";
import { TABS } from "./views.js";

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
    this.title = make("h2", "", TABS.find(({ id }) => id === tab)?.text);
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

/** The text about the moment shown, without its buttons. */
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
