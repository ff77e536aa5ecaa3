/*
 * The search of a site that is opened from a folder: browsers refuse a Worker whose script is a file:// address. There a
 * Worker is played by a hidden frame that loads the same script; messages go to and fro as they would with a worker.
 */
(function () {
  "use strict";
  if (location.protocol !== "file:") return;

  const STARTED = "iframe-worker-started";

  class FrameWorker extends EventTarget {
    constructor(address) {
      super();
      this.onmessage = null;
      this.onerror = null;
      this.waiting = [];
      this.ready = false;
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.title = "search";
      const script = JSON.stringify(String(address));
      this.frame.srcdoc =
        "<!doctype html><title>search</title><script>" +
        "var importScripts = function () { return Promise.all(Array.from(arguments).map(function (address) {" +
        "  return new Promise(function (done, failed) { var s = document.createElement('script'); s.src = address;" +
        "  s.onload = done; s.onerror = failed; document.head.appendChild(s); }); })); };" +
        "var post = function (data) { parent.dispatchEvent(new MessageEvent('message', { data: data, source: window })); };" +
        "window.postMessage = post;" +
        "<\/script><script src=" + script + " onload=\"post('" + STARTED + "')\"><\/script>";
      this.listen = (event) => this.receive(event);
      window.addEventListener("message", this.listen);
      document.body.appendChild(this.frame);
    }

    receive(event) {
      if (event.source !== this.frame.contentWindow) return;
      event.stopImmediatePropagation();
      if (event.data === STARTED) {
        this.ready = true;
        this.waiting.splice(0).forEach((data) => this.deliver(data));
        return;
      }
      const told = new MessageEvent("message", { data: event.data });
      if (typeof this.onmessage === "function") this.onmessage(told);
      this.dispatchEvent(told);
    }

    deliver(data) {
      const there = this.frame.contentWindow;
      there.dispatchEvent(new there.MessageEvent("message", { data: data }));
    }

    postMessage(data) {
      if (this.ready) this.deliver(data);
      else this.waiting.push(data);
    }

    terminate() {
      window.removeEventListener("message", this.listen);
      this.frame.remove();
    }
  }

  window.Worker = FrameWorker;
})();
