/** Reads the last envelope of gRPC-Web, as its clients do. */

const MOST = 16_384

/** The trailers of a block. @throws {Error} the block is no list of trailers, or is longer than clients take */
export function readTrailers(block: Uint8Array): Map<string, string> {
  if (block.length > MOST) throw new Error('The trailers are too long')
  const text = new TextDecoder('utf-8', { fatal: true }).decode(block)
  if (!text.endsWith('\r\n')) throw new Error('The trailers do not end with a line')
  const lines = text.slice(0, -2).split('\r\n')
  return new Map(
    lines.map((line) => {
      const [, name, value] = /^([^:\s]+): ([ -~]*)$/.exec(line) ?? []
      if (name === undefined || value === undefined) throw new Error(`No trailer: ${JSON.stringify(line)}`)
      return [name, value] as const
    })
  )
}
