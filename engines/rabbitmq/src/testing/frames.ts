/** Frames of AMQP 0.9.1 as a server reads and writes them, by the parts of amqplib that are not in its types. */
import { createRequire } from 'node:module'
import type { Socket } from 'node:net'
import { dirname, join } from 'node:path'

/** A method, or the properties of a message, or a part of its content. */
export interface Frame {
  /** The number of the method; `undefined`: properties or content. */
  readonly id?: number
  readonly channel: number
  readonly fields?: Fields
  /** Bytes of the content that follow. */
  readonly size?: number
  readonly content?: Buffer
}

// Which fields there are depends on the method.
export type Fields = Readonly<Record<string, unknown>>

interface Definitions {
  readonly [name: string]: unknown
  encodeMethod(id: number, channel: number, fields: Fields): Buffer
  encodeProperties(id: number, channel: number, size: number, fields: Fields): Buffer
}

interface Framing {
  parseFrame(bytes: Buffer, most: number): { readonly rest: Buffer } | false
  decodeFrame(frame: object): Frame
  makeBodyFrame(channel: number, content: Buffer): Buffer
}

const require = createRequire(import.meta.url)
const inside = join(dirname(require.resolve('amqplib')), 'lib')
const definitions = require(join(inside, 'defs.js')) as Definitions
const framing = require(join(inside, 'frame.js')) as Framing

/** The bytes with which a client greets. */
const GREETING = 8
const PROPERTIES = 60

/** The number of a method by its name, such as `QueueDeclare`. */
export function method(name: string): number {
  return definitions[name] as number
}

/** The name of a method by its number. */
export function nameOf(id: number): string | undefined {
  return Object.keys(definitions).find((name) => definitions[name] === id)
}

/** Reads the frames that come over a socket. */
export function readFrames(socket: Socket, greeted: () => void, receive: (frame: Frame) => void): void {
  let left = Buffer.alloc(0)
  let hasGreeted = false
  socket.on('data', (bytes: Buffer) => {
    left = Buffer.concat([left, bytes])
    if (!hasGreeted) {
      if (left.length < GREETING) return
      hasGreeted = true
      left = left.subarray(GREETING)
      greeted()
    }
    for (let frame = framing.parseFrame(left, 0); frame !== false; frame = framing.parseFrame(left, 0)) {
      left = frame.rest as typeof left
      receive(framing.decodeFrame(frame))
    }
  })
}

/** Writes a method, and the message that belongs to it. */
export function writeMethod(
  socket: Socket,
  channel: number,
  name: string,
  fields: Fields = {},
  message?: { readonly content: Buffer; readonly properties: Fields }
): void {
  if (socket.destroyed) return
  socket.write(definitions.encodeMethod(method(name), channel, fields))
  if (message === undefined) return
  const { content, properties } = message
  socket.write(definitions.encodeProperties(PROPERTIES, channel, content.length, properties))
  if (content.length > 0) socket.write(framing.makeBodyFrame(channel, content))
}
