/** The limits of one HTTP/2 connection, with their defaults. Each bounds memory or work that a peer can cause. */

/** Limits of one connection. Sizes are in bytes. */
export interface Http2Limits {
  /**
   * Most streams of the peer that are open at a time (`SETTINGS_MAX_CONCURRENT_STREAMS`). A stream above this limit gets
   * RST_STREAM with `REFUSED_STREAM`, after which a client may retry elsewhere.
   */
  readonly streams: number
  /**
   * Most bytes of one stream that are received and not yet consumed (`SETTINGS_INITIAL_WINDOW_SIZE`), at least 65,535: the
   * peer may use a window of that size before it has read our settings.
   */
  readonly streamWindow: number
  /**
   * Most bytes of all streams together that are received and not yet consumed. With less than
   * `streams` · `streamWindow`, streams that nobody reads can keep the others waiting; with more, a peer can make this
   * side keep as much memory.
   */
  readonly connectionWindow: number
  /**
   * Most bytes of the fields (headers) of one message: names and values, and 32 bytes for each field
   * (`SETTINGS_MAX_HEADER_LIST_SIZE`). A message with more gets RST_STREAM with `ENHANCE_YOUR_CALM`. The frames with the
   * fields may have as many bytes too; with more, the connection ends.
   */
  readonly fieldsSize: number
  /** Most fields of one message. A message with more gets RST_STREAM with `ENHANCE_YOUR_CALM`. */
  readonly fields: number
  /** Most CONTINUATION frames of one message; with more, the connection ends. */
  readonly continuations: number
  /**
   * Most bytes that wait on this side because the peer's windows have no room, over all streams. With more, the connection
   * ends: its peer does not read.
   */
  readonly sendBuffer: number
  /** Most bytes that wait to be handled while the peer does not read our answers; with more, the connection ends. */
  readonly receiveBuffer: number
  /**
   * Most streams that a peer can cancel within 100 ms of their beginning, or that must be reset because of its errors,
   * without a pause. Fields above the limits of a message count as often as these limits fit into them. A hundred a second
   * are forgiven, and one for each stream that ends normally. With more, the connection ends.
   */
  readonly resets: number
  /**
   * Most frames without use for any stream, without a pause: PING, SETTINGS, PRIORITY, WINDOW_UPDATE, frames of unknown
   * types or for closed streams, and DATA without content. A thousand a second are forgiven, and four for each frame with
   * content in either direction. With more, the connection ends.
   */
  readonly idleFrames: number
  /**
   * Least milliseconds between two PINGs of a client, if no content is sent to it between them. The first two that come
   * earlier are forgiven; with the next one the connection ends, as in other gRPC libraries. 0: the client may send them at
   * any time, as far as `idleFrames` allows.
   */
  readonly pings: number
}

/** The defaults. */
export const HTTP2_LIMITS: Http2Limits = {
  streams: 1_000,
  streamWindow: 262_144,
  connectionWindow: 4_194_304,
  fieldsSize: 65_536,
  fields: 256,
  continuations: 32,
  sendBuffer: 134_217_728,
  receiveBuffer: 16_777_216,
  resets: 1_000,
  idleFrames: 10_000,
  pings: 0
}
