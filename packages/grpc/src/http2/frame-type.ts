/** The numbers of HTTP/2 frames. RFC 9113, sections 4 to 6. */

/** Frame types. Frames of any other type are ignored. */
export const FrameType = {
  DATA: 0x0,
  HEADERS: 0x1,
  PRIORITY: 0x2,
  RST_STREAM: 0x3,
  SETTINGS: 0x4,
  PUSH_PROMISE: 0x5,
  PING: 0x6,
  GOAWAY: 0x7,
  WINDOW_UPDATE: 0x8,
  CONTINUATION: 0x9
} as const

/** Flags. ACK and END_STREAM are the same bit, in different types of frames. */
export const Flag = {
  END_STREAM: 0x1,
  ACK: 0x1,
  END_HEADERS: 0x4,
  PADDED: 0x8,
  PRIORITY: 0x20
} as const

/** Bytes of length, type, flags and stream id before each frame. */
export const FRAME_HEADER = 9
/**
 * Most bytes of a frame, without its header, that either side sends. A peer may allow longer frames; nothing is gained by
 * them, and a long frame would keep those of other streams waiting.
 */
export const FRAME_SIZE = 16_384
/** The largest stream id, window, and increment of a window. */
export const MAX_UINT31 = 0x7f_ff_ff_ff
/** The size of every window until SETTINGS or WINDOW_UPDATE change it. */
export const FIRST_WINDOW = 65_535
/** Bytes that a PING carries. */
export const PING_LENGTH = 8

/** The first bytes of a client. */
export const PREFACE: Uint8Array = /* @__PURE__ */ Uint8Array.from(
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  (one) => one.charCodeAt(0)
)
