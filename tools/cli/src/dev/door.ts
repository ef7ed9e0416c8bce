/** The socket over which processes tell `dev` that they listen. Only the same user can open it. */
import { mkdtempSync, rmSync } from 'node:fs'
import net from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type AnnouncedStore,
  type Announcement,
  ConnectionError,
  RpcError
} from '@elysia-microservices/transport/kit'
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
  /** A service of the process that listens. Its store is asked by the function that comes with the message. */
  readonly announcement?: Omit<Announcement, 'store'> & { readonly store?: Omit<AnnouncedStore, 'ask'> }
  /** The number of a question, with the answer or the error. */
  readonly question?: number
  readonly answer?: unknown
  readonly error?: { readonly code?: string; readonly message: string }
}

/** Asks the process that has sent a message about the store of a service. */
export type Ask = (service: string | undefined, about: object) => Promise<unknown>

/** The environment variables with the path of the socket, and with the name of the program. */
export const SOCKET = 'ELYSIA_MICROSERVICES_DEV'
export const NAME = 'ELYSIA_MICROSERVICES_DEV_NAME'
/** The environment variable with the URL of the page, which collects spans. */
export const PAGE = 'ELYSIA_MICROSERVICES_DEV_PAGE'

type Heard = (told: Told, ask: Ask) => void

/** Most characters of a message: an answer may have many events. */
const LONGEST = 256 * 1024 * 1024

/** The questions to one process that are not answered yet. */
class Questions {
  readonly #open = new Map<number, { resolve(answer: unknown): void; reject(error: Error): void }>()
  readonly #write: (line: object) => void
  #last = 0
  #isOver = false

  constructor(write: (line: object) => void) {
    this.#write = write
  }

  readonly ask: Ask = (service, about) =>
    new Promise((resolve, reject) => {
      if (this.#isOver) return reject(hasEnded())
      const question = ++this.#last
      this.#open.set(question, { resolve, reject })
      this.#write({ question, service, about })
    })

  answered(question: number, { answer, error }: Told): void {
    const asked = this.#open.get(question)
    this.#open.delete(question)
    if (error === undefined) asked?.resolve(answer)
    else asked?.reject(new RpcError({ code: error.code ?? 'STORE', message: error.message }))
  }

  /** The process has ended. */
  end(): void {
    this.#isOver = true
    for (const { reject } of this.#open.values()) reject(hasEnded())
    this.#open.clear()
  }
}

function hasEnded(): Error {
  return new ConnectionError('The process that has the store of this service has ended', false)
}

/** Listens for messages of processes. */
export class Door {
  readonly #folder: string
  readonly #server: net.Server
  readonly #sockets = new Set<net.Socket>()

  private constructor(folder: string, heard: Heard) {
    this.#folder = folder
    this.#server = net.createServer((socket) => {
      this.#sockets.add(socket)
      const questions = new Questions((line) => socket.write(`${JSON.stringify(line)}\n`))
      const splitter = new LineSplitter((line) => {
        const told = read(line)
        if (told === undefined) return
        if (told.question !== undefined) return questions.answered(told.question, told)
        heard(told, questions.ask)
        if (told.taken !== undefined) socket.write('{}\n')
      }, LONGEST)
      socket.on('data', (chunk) => splitter.add(chunk as Uint8Array))
      // An error of this socket means that the process was killed, and needs no other handling.
      socket.on('error', () => {})
      socket.on('close', () => {
        this.#sockets.delete(socket)
        questions.end()
      })
    })
  }

  static async open(heard: Heard): Promise<Door> {
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
