/** The test vectors of docs/protocol.md: conversations, byte by byte. */
import { join } from 'node:path'
import { rootFolder } from '../workspace.ts'
import { codeBlocks } from './markdown.ts'

/** One line of a conversation. */
export type Step =
  /** Bytes that one side sends. */
  | { readonly from: 'client' | 'server'; readonly bytes: Buffer; readonly line: string }
  /** The server closes the connection. */
  | { readonly from: 'server'; readonly bytes: undefined; readonly line: string }
  /** The client loses the connection and opens a new one. */
  | { readonly from: 'client'; readonly bytes: undefined; readonly line: string }
  /** The service begins to stop. */
  | { readonly from: undefined; readonly bytes: undefined; readonly line: string }

export interface Vector {
  /** The side that this library takes. */
  readonly side: 'client' | 'server'
  /** The words between the side and the title: differences from the usual set-up. */
  readonly options: readonly string[]
  readonly title: string
  readonly steps: readonly Step[]
}

const TOKEN = /`(?<text>[^`]*)`|(?<hex>(?:[0-9a-f]{2})+)|(?<comment>#.*)|(?<space>\s+)/gy

/** Reads all vectors. */
export function readVectors(): Vector[] {
  const blocks = codeBlocks(join(rootFolder, 'docs/protocol.md'))
  const frames = readFrames(blocks.find(({ info }) => info === 'vector frames')?.code ?? '')
  return blocks.flatMap(({ info, code }) => {
    const header = /^vector (client|server)([^:]*): (.+)$/.exec(info)
    if (header === null) return []
    const [, side, options = '', title = ''] = header
    return {
      side: side as Vector['side'],
      options: options.split(' ').filter((word) => word !== ''),
      title,
      steps: code
        .trim()
        .split('\n')
        .map((line) => readStep(line, frames))
    }
  })
}

/** Frames with a name, so that vectors need not repeat their bytes. */
function readFrames(code: string): ReadonlyMap<string, Buffer> {
  return new Map(
    code
      .trim()
      .split('\n')
      .map((line) => {
        const [name = ''] = line.split(' ', 1)
        return [name, readBytes(line.slice(name.length))]
      })
  )
}

function readStep(line: string, frames: ReadonlyMap<string, Buffer>): Step {
  if (line === 'reconnect') return { from: 'client', bytes: undefined, line }
  if (line === 'stop') return { from: undefined, bytes: undefined, line }
  if (line === '< end') return { from: 'server', bytes: undefined, line }
  const from = { '>': 'client', '<': 'server' }[line[0] ?? ''] as 'client' | 'server' | undefined
  if (from === undefined) throw new Error(`A line of a vector begins with > or <: ${line}`)
  return { from, bytes: frames.get(line.slice(2)) ?? readBytes(line.slice(1)), line }
}

function readBytes(text: string): Buffer {
  const parts: Buffer[] = []
  TOKEN.lastIndex = 0
  while (TOKEN.lastIndex < text.length) {
    const at = TOKEN.lastIndex
    const groups = TOKEN.exec(text)?.groups
    if (groups === undefined) throw new Error(`Expected hex or text at ${at} of ${text}`)
    if (groups['text'] !== undefined) parts.push(Buffer.from(groups['text']))
    if (groups['hex'] !== undefined) parts.push(Buffer.from(groups['hex'], 'hex'))
  }
  return Buffer.concat(parts)
}
