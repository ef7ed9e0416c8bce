/** The socket over which processes tell `dev` that they listen. Only the same user can open it. */
import { mkdtempSync, rmSync } from 'node:fs'
import net from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Announcement } from '@elysia-microservices/transport/kit'
import { LineSplitter } from './lines.ts'

/** A message of a process to `dev`. */
export interface Told {
  /** The name under which `dev` runs the program. */
  readonly name: string
  /** A port on which the process listens. */
  readonly port?: number
  /** The purpose of that port, if it is not for callers: `health`. */
  readonly purpose?: string
  /** A port on which the process cannot listen, because it is taken. The process waits for an answer before it ends. */
  readonly taken?: number
  /** A service of the process that listens. */
  readonly announcement?: Announcement
}

/** The environment variables with the path of the socket, and with the name of the program. */
export const SOCKET = 'ELYSIA_MICROSERVICES_DEV'
export const NAME = 'ELYSIA_MICROSERVICES_DEV_NAME'
/** The environment variable with the URL of the page, which collects spans. */
export const PAGE = 'ELYSIA_MICROSERVICES_DEV_PAGE'

/** Listens for messages of processes. */
export class Door {
  readonly #folder: string
  readonly #server: net.Server
  readonly #sockets = new Set<net.Socket>()

  private constructor(folder: string, heard: (told: Told) => void) {
    this.#folder = folder
    this.#server = net.createServer((socket) => {
      this.#sockets.add(socket)
      const splitter = new LineSplitter((line) => {
        const told = read(line)
        if (told === undefined) return
        heard(told)
        if (told.taken !== undefined) socket.write('heard\n')
      })
      socket.on('data', (chunk) => splitter.add(chunk as Uint8Array))
      // An error of this socket means that the process was killed, and needs no other handling.
      socket.on('error', () => {})
      socket.on('close', () => this.#sockets.delete(socket))
    })
  }

  static async open(heard: (told: Told) => void): Promise<Door> {
    // Only this user has access to the folder.
    const door = new Door(mkdtempSync(join(tmpdir(), 'elysia-microservices-dev-')), heard)
    await new Promise<void>((resolve, reject) => {
      door.#server.once('error', reject)
      door.#server.listen(door.path, resolve)
    })
    return door
  }

  get path(): string {
    return join(this.#folder, 'socket')
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await new Promise((resolve) => this.#server.close(resolve))
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

function read(line: string): Told | undefined {
  try {
    const told = JSON.parse(line) as Told
    return typeof told.name === 'string' ? told : undefined
  } catch {
    return undefined
  }
}
