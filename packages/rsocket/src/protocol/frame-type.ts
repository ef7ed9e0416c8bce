/** The numbers of RSocket 1.0: frame types, flags, error codes. Protocol.md, "Frame Types" and "Error Codes". */

/** Frame types, in the upper 6 of the 16 bits that contain type and flags. */
export const FrameType = {
  SETUP: 0x01,
  LEASE: 0x02,
  KEEPALIVE: 0x03,
  REQUEST_RESPONSE: 0x04,
  REQUEST_FNF: 0x05,
  REQUEST_STREAM: 0x06,
  REQUEST_CHANNEL: 0x07,
  REQUEST_N: 0x08,
  CANCEL: 0x09,
  PAYLOAD: 0x0a,
  ERROR: 0x0b,
  METADATA_PUSH: 0x0c,
  RESUME: 0x0d,
  RESUME_OK: 0x0e,
  EXT: 0x3f
} as const

/** Number of bits for flags, below the type. */
export const TYPE_SHIFT = 10

/** Flags. Some bits have different meanings in different frame types. */
export const Flag = {
  IGNORE: 0x200,
  METADATA: 0x100,
  /** In requests and PAYLOAD: more fragments follow. */
  FOLLOWS: 0x80,
  /** In KEEPALIVE: the other side must answer. */
  RESPOND: 0x80,
  /** In SETUP: the frame has a resume token. */
  RESUME: 0x80,
  /** In PAYLOAD and REQUEST_CHANNEL: the stream is complete. */
  COMPLETE: 0x40,
  /** In SETUP: the client honours leases. */
  LEASE: 0x40,
  /** In PAYLOAD: the frame has a value. */
  NEXT: 0x20
} as const

/** The codes of ERROR frames. Protocol.md, "Error Codes". */
export const ErrorCode = {
  INVALID_SETUP: 0x001,
  UNSUPPORTED_SETUP: 0x002,
  REJECTED_SETUP: 0x003,
  REJECTED_RESUME: 0x004,
  CONNECTION_ERROR: 0x101,
  CONNECTION_CLOSE: 0x102,
  APPLICATION_ERROR: 0x201,
  REJECTED: 0x202,
  CANCELED: 0x203,
  INVALID: 0x204
} as const

/** Most bytes of a frame, without its length field. */
export const MAX_FRAME_LENGTH = 0xff_ff_ff
/** Largest number in a field of 31 bits. */
export const MAX_UINT31 = 0x7f_ff_ff_ff
/** Length of the field before each frame that has the length of the frame. */
export const LENGTH_FIELD = 3
/** Bytes of stream id, type and flags. */
export const HEADER_LENGTH = 6
/** The version of RSocket: 1.0. */
export const MAJOR_VERSION = 1
export const MINOR_VERSION = 0
