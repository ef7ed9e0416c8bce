/** The settings that the other end has sent. RFC 9113, section 6.5. */
import { readUint16, readUint32 } from '@elysia-microservices/transport/kit'
import { ConnectionFault, ErrorCode, frameSizeFault, protocolFault } from './error-code.ts'
import { FIRST_WINDOW, FRAME_SIZE, MAX_UINT31 } from './frame-type.ts'

/** The identifiers of settings. All others are ignored. */
export const Setting = {
  HEADER_TABLE_SIZE: 0x1,
  ENABLE_PUSH: 0x2,
  MAX_CONCURRENT_STREAMS: 0x3,
  INITIAL_WINDOW_SIZE: 0x4,
  MAX_FRAME_SIZE: 0x5,
  MAX_HEADER_LIST_SIZE: 0x6
} as const

const SETTING_LENGTH = 6
const LARGEST_FRAME_SIZE = 0xff_ff_ff
/** The size of the table that both sides of HPACK begin with. */
export const FIRST_TABLE_SIZE = 4_096

/** The settings of the peer. `MAX_FRAME_SIZE` is only checked: see `FRAME_SIZE`. */
export class PeerSettings {
  /** Most bytes of the table that the peer's decoder keeps. */
  headerTableSize = FIRST_TABLE_SIZE
  /** Most streams that this side may have open at a time. */
  maxStreams = Number.POSITIVE_INFINITY
  /** The window of a new stream, for what this side sends. */
  initialWindow = FIRST_WINDOW
  /** Most bytes of the fields of a message. */
  maxFieldsSize = Number.POSITIVE_INFINITY

  /**
   * Reads the payload of a SETTINGS frame. A setting that is there several times has its last value.
   * @param isServer whether the peer is a server, which may not enable push
   * @throws {ConnectionFault} the length or a value is not allowed; then no setting has changed
   */
  read(buffer: Uint8Array, start: number, end: number, isServer: boolean): void {
    if ((end - start) % SETTING_LENGTH !== 0)
      throw frameSizeFault(`SETTINGS have ${end - start} bytes, which is no multiple of ${SETTING_LENGTH}`)
    for (let at = start; at < end; at += SETTING_LENGTH)
      check(readUint16(buffer, at), readUint32(buffer, at + 2), isServer)
    for (let at = start; at < end; at += SETTING_LENGTH)
      this.#set(readUint16(buffer, at), readUint32(buffer, at + 2))
  }

  #set(identifier: number, value: number): void {
    if (identifier === Setting.HEADER_TABLE_SIZE) this.headerTableSize = value
    else if (identifier === Setting.MAX_CONCURRENT_STREAMS) this.maxStreams = value
    else if (identifier === Setting.INITIAL_WINDOW_SIZE) this.initialWindow = value
    else if (identifier === Setting.MAX_HEADER_LIST_SIZE) this.maxFieldsSize = value
  }
}

function check(identifier: number, value: number, isServer: boolean): void {
  if (identifier === Setting.ENABLE_PUSH && (value > 1 || (isServer && value === 1)))
    throw protocolFault(`SETTINGS_ENABLE_PUSH is ${value}`)
  if (identifier === Setting.INITIAL_WINDOW_SIZE && value > MAX_UINT31)
    throw new ConnectionFault(
      ErrorCode.FLOW_CONTROL_ERROR,
      `SETTINGS_INITIAL_WINDOW_SIZE is ${value}; at most ${MAX_UINT31} is allowed`
    )
  if (identifier === Setting.MAX_FRAME_SIZE && (value < FRAME_SIZE || value > LARGEST_FRAME_SIZE))
    throw protocolFault(
      `SETTINGS_MAX_FRAME_SIZE is ${value}; ${FRAME_SIZE} to ${LARGEST_FRAME_SIZE} are allowed`
    )
}
