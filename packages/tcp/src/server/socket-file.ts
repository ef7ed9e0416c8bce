/**
 * The file of a Unix socket. It replaces the file of a dead server, but not of a running one, and is removed at the
 * end.
 */
import { NOBODY } from '@elysia-microservices/rsocket/session'
import type { SocketRuntime } from '../socket/socket.ts'

/** Milliseconds to wait for a connection. A server that does not accept within this time is busy, not dead. */
const ANSWER_TIMEOUT = 2_000

type FileSystem = Pick<typeof import('node:fs'), 'lstatSync' | 'unlinkSync'>

/** The file that this process listens on. */
export class SocketFile {
  readonly #path: string
  readonly #fs: FileSystem
  #inode: bigint | undefined

  private constructor(path: string, fs: FileSystem) {
    this.#path = path
    this.#fs = fs
  }

  /** Removes the file of a dead server. Rejects with `EADDRINUSE` if a server answers or the file is no socket. */
  static async claim(path: string, sockets: SocketRuntime): Promise<SocketFile> {
    const file = new SocketFile(path, await import('node:fs'))
    const found = file.#stat()
    if (found === undefined) return file
    if (!found.isSocket()) throw inUse(`${path} exists and is not a socket`)
    if (await answers(path, sockets)) throw inUse(`a server answers at ${path}`)
    file.#unlink()
    return file
  }

  /** The server listens, so from now on the file belongs to this process. */
  listening(): void {
    this.#inode = this.#stat()?.ino
  }

  /** Removes the file, unless another server has replaced it. */
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
      // ENOENT is ignored, because the file may already be gone.
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
    // Other errors (no permission, a full queue) do not prove that the server is dead.
    return (error as { code?: string }).code !== 'ECONNREFUSED'
  }
}

function inUse(message: string): Error {
  return Object.assign(new Error(message), { code: 'EADDRINUSE' })
}
