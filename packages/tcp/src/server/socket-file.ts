/** The file of a Unix socket: a dead server's is replaced, a living one's never; it is removed at the end. */
import { NOBODY, type SocketRuntime } from '../socket/socket.ts'

/** Milliseconds in which a server that lives takes a connection. One that does not is busy, not dead. */
const ANSWER_TIMEOUT = 2_000

type FileSystem = Pick<typeof import('node:fs'), 'lstatSync' | 'unlinkSync'>

/** A file that this process listens on. */
export class SocketFile {
  readonly #path: string
  readonly #fs: FileSystem
  #inode: bigint | undefined

  private constructor(path: string, fs: FileSystem) {
    this.#path = path
    this.#fs = fs
  }

  /** Makes way for a socket. Rejects with `EADDRINUSE` where something lives. */
  static async claim(path: string, sockets: SocketRuntime): Promise<SocketFile> {
    const file = new SocketFile(path, await import('node:fs'))
    const found = file.#stat()
    if (found === undefined) return file
    if (!found.isSocket()) throw inUse(`${path} exists, and is no socket`)
    if (await answers(path, sockets)) throw inUse(`a server answers at ${path}`)
    file.#unlink()
    return file
  }

  /** The server listens: the file is its own from now on. */
  listening(): void {
    this.#inode = this.#stat()?.ino
  }

  /** Removes the file, unless it is another server's by now. */
  remove(): void {
    if (this.#inode !== undefined && this.#stat()?.ino === this.#inode) this.#unlink()
  }

  #stat() {
    return this.#fs.lstatSync(this.#path, { bigint: true, throwIfNoEntry: false })
  }

  #unlink(): void {
    try {
      this.#fs.unlinkSync(this.#path)
    } catch (error) {
      // Whoever else removed it has done what was to be done.
      if ((error as { code?: string }).code !== 'ENOENT') throw error
    }
  }
}

async function answers(path: string, sockets: SocketRuntime): Promise<boolean> {
  try {
    await sockets.connect(
      { host: '', port: 0, path },
      (socket) => {
        queueMicrotask(() => socket.destroy())
        return NOBODY
      },
      AbortSignal.timeout(ANSWER_TIMEOUT)
    )
    return true
  } catch (error) {
    // Anything else (no permission, a full queue) does not say that nobody is there.
    return (error as { code?: string }).code !== 'ECONNREFUSED'
  }
}

function inUse(message: string): Error {
  return Object.assign(new Error(message), { code: 'EADDRINUSE' })
}
