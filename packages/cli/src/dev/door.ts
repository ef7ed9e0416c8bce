/** Where processes tell that they listen: a socket that only this user can open. */
import { mkdtempSync, rmSync } from 'node:fs'
import net from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Announcement } from '@elysia-microservices/transport/kit'
import { LineSplitter } from './lines.ts'

/** Message of a process to `dev`. */
export interface Told {
  /** The name that `dev` has given the program. */
  readonly name: string
  /** A port that it listens on, */
  readonly port?: number
  /** what that port is for, if it serves nobody: `health`; */
  readonly purpose?: string
  /** a port that it cannot listen on, because something else does: it waits for an answer before it ends; */
  readonly taken?: number
  /** or a service of it that listens. */
  readonly announcement?: Announcement
}

/** Variables that say where, and who tells. */
export const SOCKET = 'ELYSIA_MICROSERVICES_DEV'
export const NAME = 'ELYSIA_MICROSERVICES_DEV_NAME'
/** Where the page is, which takes spans. */
export const PAGE = 'ELYSIA_MICROSERVICES_DEV_PAGE'

/** Listens for what processes tell. */
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
      // A process that is killed is gone, and that is all.
      socket.on('error', () => {})
      socket.on('close', () => this.#sockets.delete(socket))
    })
  }

  static async open(heard: (told: Told) => void): Promise<Door> {
    // Only this user may enter it.
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
