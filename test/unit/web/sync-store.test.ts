import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { ClientFrame, ServerFrame } from "../../../src/protocol/frames.js";
import type { Environment, SocketLike } from "../../../src/web/sync/connection.js";
import { memoryStorage, type StorageLike } from "../../../src/web/sync/outbox.js";
import { ConversationStore } from "../../../src/web/sync/store.js";
import { delta, pausePoint, run, text, welcome } from "./fixtures.js";

class FakeSocket implements SocketLike {
  onopen: (() => void) | null = null;
  onmessage: ((event: { data: unknown }) => void) | null = null;
  onclose: ((event: { code: number }) => void) | null = null;
  sent: ClientFrame[] = [];
  closed = false;
  send(data: string) {
    this.sent.push(JSON.parse(data) as ClientFrame);
  }
  close() {
    this.closed = true;
  }
  says(...frames: ServerFrame[]) {
    for (const frame of frames) this.onmessage?.({ data: JSON.stringify(frame) });
  }
  of<T extends ClientFrame["type"]>(type: T): Extract<ClientFrame, { type: T }>[] {
    return this.sent.filter((frame): frame is Extract<ClientFrame, { type: T }> => frame.type === type);
  }
}

class FakePage implements Environment {
  isOnline = true;
  isVisible = true;
  #listeners = new Set<(what: "online" | "offline" | "shown" | "hidden") => void>();
  online = () => this.isOnline;
  visible = () => this.isVisible;
  onChange(listener: (what: "online" | "offline" | "shown" | "hidden") => void) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
  happens(what: "online" | "offline" | "shown" | "hidden") {
    if (what === "online" || what === "offline") this.isOnline = what === "online";
    for (const listener of this.#listeners) listener(what);
  }
}

function setUp(storage: StorageLike = memoryStorage()) {
  const sockets: FakeSocket[] = [];
  const page = new FakePage();
  const store = new ConversationStore({
    conversationId: "c_1",
    person: () => "you",
    device: () => ({ id: "d", name: "Test" }),
    storage,
    environment: page,
    random: () => 0.5,
    open: () => {
      const socket = new FakeSocket();
      sockets.push(socket);
      return socket;
    },
  });
  store.start();
  const socket = () => sockets.at(-1) as FakeSocket;
  const welcomed = (over: Parameters<typeof welcome>[0] = {}) => {
    socket().onopen?.();
    socket().says(welcome(over));
  };
  return { store, sockets, socket, page, storage, welcomed };
}

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

describe("hello", () => {
  test("is the first frame, without epoch on a fresh device and with it after", () => {
    const { socket, welcomed } = setUp();
    welcomed({ epoch: "e7", seq: 12 });
    expect(socket().sent[0]).toEqual({ type: "hello", protocol: 1, device: { id: "d", name: "Test" } });
    socket().onclose?.({ code: 1006 });
    vi.advanceTimersByTime(5_000);
    socket().onopen?.();
    expect(socket().sent[0]).toMatchObject({ type: "hello", epoch: "e7", seq: 12 });
  });

  test("[S3] is said once more at a gap, and not again before the welcome to it", () => {
    const { socket, welcomed } = setUp();
    welcomed({ run: run() });
    socket().says(delta({ n: 1, chunks: text("t", "a") }), delta({ n: 3 }), delta({ n: 4 }));
    expect(socket().of("hello")).toHaveLength(2);
    socket().says(welcome({ mode: "delta", run: run(), live: delta({ n: 4, chunks: text("t", "abcd") }) }), delta({ n: 6 }));
    expect(socket().of("hello")).toHaveLength(3);
  });
});

describe("[S5] commands", () => {
  test("C33 a text dropped before its ack is sent again with the same opId, once per socket, until acknowledged", () => {
    const { store, socket, welcomed } = setUp();
    welcomed();
    store.send("hi");
    const first = socket().of("send")[0];
    socket().onclose?.({ code: 1006 });
    vi.advanceTimersByTime(5_000);
    welcomed();
    expect(socket().of("send")).toEqual([first]);
    socket().says({ type: "ack", opId: first?.opId ?? "", status: "duplicate" });
    expect(store.getSnapshot().unacknowledged).toEqual([]);
    socket().onclose?.({ code: 1006 });
    vi.advanceTimersByTime(5_000);
    welcomed();
    expect(socket().of("send")).toEqual([]);
  });

  test("commands outlive a reload, and a second hello on the same socket does not repeat them", () => {
    const storage = memoryStorage();
    const before = setUp(storage);
    before.store.send("kept");
    const after = setUp(storage);
    expect(after.store.getSnapshot().unacknowledged).toHaveLength(1);
    after.welcomed();
    after.socket().says(welcome());
    expect(after.socket().of("send")).toHaveLength(1);
  });

  test("a command of another person is kept but not sent in this one's name", () => {
    const storage = memoryStorage();
    setUp(storage).store.send("mine");
    const other = setUp(storage);
    other.welcomed({ you: { person: "somebody else", role: "owner" } });
    expect(other.socket().of("send")).toEqual([]);
  });

  test("C52 no double submit: a card takes no second answer while the first has none", () => {
    const { store, socket, welcomed } = setUp();
    const card = pausePoint();
    welcomed({ pausePoints: [card] });
    store.decide(card, { decision: "approve" });
    store.decide(card, { decision: "reject" });
    expect(socket().of("decide")).toHaveLength(1);
    expect(socket().of("decide")[0]).toMatchObject({ pausePointId: "c_1.1", version: 1, decision: "approve" });
    expect(socket().of("decide")[0]).not.toHaveProperty("payloadOverride");
  });

  test("a conflict leaves a note and brings the card as it is", () => {
    const { store, socket, welcomed } = setUp();
    const card = pausePoint();
    welcomed({ pausePoints: [card] });
    store.decide(card, { decision: "approve" });
    const opId = socket().of("decide")[0]?.opId ?? "";
    socket().says({
      type: "ack",
      opId,
      status: "conflict",
      code: "conflict",
      message: "Jonas was first.",
      current: pausePoint({ state: "rejected", version: 2, decidedBy: "Jonas" }),
    });
    expect(store.getSnapshot().notes.get("c_1.1")).toMatchObject({ status: "conflict", message: "Jonas was first." });
    expect(store.getSnapshot().sync.pausePoints.get("c_1.1")?.state).toBe("rejected");
  });

  test("a refused text is not lost", () => {
    const { store, socket, welcomed } = setUp();
    welcomed();
    store.send("long words");
    socket().says({ type: "ack", opId: socket().of("send")[0]?.opId ?? "", status: "rejected", code: "too_long", message: "Too long." });
    expect(store.getSnapshot().refused).toMatchObject([{ text: "long words", message: "Too long." }]);
  });

  test("the client's message id can't be taken for one of the server's", () => {
    const { store, socket, welcomed } = setUp();
    welcomed();
    store.send("hi", true);
    expect(socket().of("send")[0]?.messageId).not.toMatch(/^m\d/);
    expect(socket().of("send")[0]).toMatchObject({ withdraw: true });
  });
});

describe("[S7] reconnecting", () => {
  test("nothing more is tried after 4403, 4404 and 4426", () => {
    const { store, sockets, socket } = setUp();
    socket().onclose?.({ code: 4404 });
    vi.advanceTimersByTime(120_000);
    expect([sockets.length, store.getSnapshot().status, store.getSnapshot().closeCode]).toEqual([1, "refused", 4404]);
  });

  test("offline waits for the network, and comes back within half a second", () => {
    const { store, sockets, page, welcomed } = setUp();
    welcomed();
    page.happens("offline");
    expect(store.getSnapshot().status).toBe("offline");
    store.send("kept while offline");
    vi.advanceTimersByTime(10_000);
    expect(sockets).toHaveLength(1);
    page.happens("online");
    vi.advanceTimersByTime(500);
    expect(sockets).toHaveLength(2);
    welcomed();
    expect(store.getSnapshot().status).toBe("live");
    expect(sockets[1]?.of("send")).toHaveLength(1);
  });

  test("a socket that is silent after a ping is given up", () => {
    const { sockets, socket, welcomed } = setUp();
    welcomed();
    vi.advanceTimersByTime(25_000);
    expect(socket().of("ping")).toHaveLength(1);
    vi.advanceTimersByTime(15_000 + 5_000);
    expect(sockets[0]?.closed).toBe(true);
    expect(sockets).toHaveLength(2);
  });

  test("a page that is not looked at sends no pings", () => {
    const { socket, page, welcomed } = setUp();
    page.isVisible = false;
    welcomed();
    vi.advanceTimersByTime(100_000);
    expect(socket().of("ping")).toHaveLength(0);
  });
});

test("[S6] seen is said at most once a second, when much has come and only while frames arrive", () => {
  const { socket, welcomed } = setUp();
  welcomed({ run: run(), seq: 3 });
  const much = "a".repeat(8 * 1024);
  for (let n = 1; n <= 20; n += 1) {
    socket().says(delta({ n, chunks: text("t", much) }));
    vi.advanceTimersByTime(100);
  }
  const count = socket().of("seen").length;
  expect(count).toBeGreaterThan(0);
  expect(count).toBeLessThanOrEqual(2);
  expect(socket().of("seen").at(-1)).toMatchObject({ seq: 3 });
  vi.advanceTimersByTime(2_000);
  const said = socket().of("seen").length;
  for (let n = 21; n <= 30; n += 1) {
    socket().says(delta({ n, chunks: [] }));
    vi.advanceTimersByTime(1_000);
  }
  expect(socket().of("seen")).toHaveLength(said);
});
