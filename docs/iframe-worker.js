// The search of this site runs in a worker, which browsers refuse to a page opened from the disk (file://). There, a
// hidden frame does the same work; from a server, this script does nothing.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      const waiting = [];
      this.postMessage = (data) => waiting.push(data);
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inside = frame.contentWindow;
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = inside.document.createElement("script");
      script.src = new URL(address, location);
      script.onload = () => {
        this.postMessage = (data) => inside.dispatchEvent(new MessageEvent("message", { data }));
        waiting.forEach(this.postMessage);
      };
      inside.document.body.append(script);
    }
  };
}
