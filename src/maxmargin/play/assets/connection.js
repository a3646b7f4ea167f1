// The web socket to `maxmargin play`. A new request makes the answers to earlier ones stale; those are dropped.

export class Connection {
  constructor(onMessage, onState) {
    this.onMessage = onMessage;
    this.onState = onState;
    this.request = 0;
    this.waiting = null;
    this.open();
  }

  open() {
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    this.socket = new WebSocket(`${scheme}://${location.host}/fits${location.search}`);
    this.socket.addEventListener("open", () => {
      this.onState("");
      if (this.waiting) this.socket.send(this.waiting);
    });
    this.socket.addEventListener("message", ({ data }) => {
      const message = JSON.parse(data);
      if (message.request === this.request) this.onMessage(message);
    });
    this.socket.addEventListener("close", () => {
      this.onState("The server has stopped. Start `maxmargin play` again, and open the address that it prints.");
    });
  }

  ask(content) {
    this.request += 1;
    this.waiting = JSON.stringify({ kind: "fit", request: this.request, ...content });
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(this.waiting);
  }

  cancel() {
    this.request += 1;
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify({ kind: "cancel" }));
  }
}
