/** The data of an engine belong to one `dev` at a time: a file beside them says which, and where it is heard. */
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import net from 'node:net'

/** The `dev` that has claimed the data. */
export interface Owner {
  /** A socket that is open while it runs. */
  readonly socket: string
  /** Where its engine is. */
  readonly url: string
}

/** Attempts, of which each fails only if somebody else has taken or left the data meanwhile. */
const ATTEMPTS = 5

/**
 * Takes the data of an engine; what one that was killed has left counts for nothing.
 * @param folder of the data
 * @returns who has them, if that is somebody else
 */
export async function claim(folder: string, own: Owner): Promise<Owner | undefined> {
  const file = fileOf(folder)
  const draft = `${file}.${process.pid}`
  writeFileSync(draft, JSON.stringify(own))
  let other: Owner | undefined
  try {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      try {
        // A file that is there is whole, and of one owner.
        linkSync(draft, file)
        return undefined
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      }
      other = read(file)
      if (other !== undefined && (await isHeard(other.socket))) return other
      if (read(file)?.socket === other?.socket) rmSync(file, { force: true })
    }
    return other
  } finally {
    rmSync(draft, { force: true })
  }
}

/** Gives the data back, if they are this owner's. */
export function release(folder: string, { socket }: Owner): void {
  const file = fileOf(folder)
  if (read(file)?.socket === socket) rmSync(file, { force: true })
}

function fileOf(folder: string): string {
  return `${folder}.lock`
}

function read(file: string): Owner | undefined {
  try {
    const { socket, url } = JSON.parse(readFileSync(file, 'utf8')) as Partial<Owner>
    return typeof socket === 'string' && typeof url === 'string' ? { socket, url } : undefined
  } catch {
    return undefined
  }
}

function isHeard(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect({ path })
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}
