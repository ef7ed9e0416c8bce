/** One case of the conformance table: what is sent, and what must come back. */

/** The reaction that a server must show. */
export interface Expected {
  /** The JSON texts of the frames that come back, in order; nothing else may come. */
  readonly frames?: readonly string[]
  /** The server ends the connection. */
  readonly closes?: true
  /** A text its error log must hold. */
  readonly logs?: string
  /** The list `seen` of the handlers at the end. */
  readonly seen?: readonly unknown[]
}

/** A case. Both servers must do `expected`; where ours differs on purpose, it must do `ours` instead. */
export interface Case {
  readonly name: string
  /** The chunks to write to the connection, one write each; or a number of frames to wait for before going on. */
  readonly send: readonly (string | Uint8Array | { readonly frames: number })[]
  readonly expected: Expected
  /**
   * A deliberate difference, with its reason (docs/protocol.md, "Where we differ on purpose"); `alone`: not inside Nest,
   * whose own filters answer there.
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

/** The answer when nobody handles the pattern. */
export function noHandler(id = '"I"'): string {
  return `{"id":${id},"status":"error","err":"There is no matching message handler defined in the remote service."}`
}
