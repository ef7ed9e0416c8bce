/** One case of the conformance table: the bytes to send, and the expected answer. */

/** The reaction that a server must show. */
export interface Expected {
  /** The JSON texts of the frames that the server sends, in order; it must send nothing else. */
  readonly frames?: readonly string[]
  /** Whether the server closes the connection. */
  readonly closes?: true
  /** A text that the server's error log must contain. */
  readonly logs?: string
  /** The list `seen` of the handlers after the case. */
  readonly seen?: readonly unknown[]
}

/** A case. Both servers must do `expected`; if our server differs on purpose, it must do `ours` instead. */
export interface Case {
  readonly name: string
  /** The chunks to write, one write each; a number of frames means: wait until so many have arrived. */
  readonly send: readonly (string | Uint8Array | { readonly frames: number })[]
  readonly expected: Expected
  /**
   * A deliberate difference, with its reason (docs/protocol.md, "Where we differ on purpose"); `alone`: only if the
   * server does not run inside NestJS, whose own filters answer there.
   */
  readonly ours?: Expected & { readonly because: string; readonly alone?: true }
}

/** The answer that ends a request with one value. */
export function answer(json: string, id = '"I"'): string {
  return `{"response":${json},"isDisposed":true,"id":${id}}`
}

/** The answer that ends a request with an error. */
export function failure(json: string, id = '"I"'): string {
  return `{"err":${json},"isDisposed":true,"id":${id}}`
}

export const INTERNAL = failure('{"status":"error","message":"Internal server error"}')
export const END = '{"isDisposed":true,"id":"I"}'

/** The answer if nobody handles the pattern. */
export function noHandler(id = '"I"'): string {
  return `{"id":${id},"status":"error","err":"There is no matching message handler defined in the remote service."}`
}
