/**
 * Makes sure that only one `dev` at a time uses the data of an engine. Each `dev` that wants the data first writes
 * a file of its own beside them, and then looks for files of others. So if two start at the same moment, the later
 * one always sees the file of the earlier one, and they can never both get the data. A file counts as long as its
 * owner listens on its socket. File names are never reused, so removing the file of a `dev` that was killed cannot
 * harm another one.
 */
import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import net from 'node:net'
import { basename, dirname, join } from 'node:path'

/** The `dev` that has claimed the data. */
export interface Owner {
  /** The path of a socket that is open while the owner runs. */
  readonly socket: string
  /** The URL of the owner's engine. */
  readonly url: string
}

/** The outcome of `claim`: this process has the data now, or another owner has them. */
export type Claimed = { readonly release: () => void } | { readonly owner: Owner }

/**
 * How often the files are looked at, and the milliseconds in between. In this time others that only try remove
 * their files, but an owner's file stays.
 */
const LOOKS = 10
const PAUSE = 50

/**
 * Claims the data of an engine, unless another owner has them.
 * @param folder the folder of the data
 */
export async function claim(folder: string, own: Owner): Promise<Claimed> {
  const place = dirname(folder)
  const prefix = `${basename(folder)}.lock-`
  // The names are ordered by time, so that an owner comes before those that try later.
  const name = `${prefix}${Date.now()}-${randomUUID()}`
  const file = join(place, name)
  const release = () => rmSync(file, { force: true })
  let owner = own
  let isWaiting = false
  for (let look = 0; look < LOOKS; look++) {
    // The file is renamed into place, so that a file with such a name is always complete.
    if (!isWaiting) {
      writeFileSync(`${file}.draft`, JSON.stringify(own))
      renameSync(`${file}.draft`, file)
    }
    const others = await othersOf(place, prefix, name)
    const [first] = others
    if (first === undefined && !isWaiting) return { release }
    if (first !== undefined) owner = first.owner
    // If several try at the same moment, the first one stays and the others remove their files for a while.
    isWaiting = first !== undefined && first.name < name
    if (isWaiting) release()
    await new Promise((resolve) => setTimeout(resolve, first === undefined ? 0 : PAUSE))
  }
  release()
  return { owner }
}

/** The files of other running owners, in their order. Files of owners that do not run any more are removed. */
async function othersOf(place: string, prefix: string, own: string) {
  const others: { readonly name: string; readonly owner: Owner }[] = []
  for (const name of readdirSync(place)) {
    if (!name.startsWith(prefix) || name.endsWith('.draft') || name === own) continue
    const file = join(place, name)
    const owner = read(file)
    if (owner !== undefined && (await isHeard(owner.socket))) others.push({ name, owner })
    else rmSync(file, { force: true })
  }
  return others.sort((one, other) => (one.name < other.name ? -1 : 1))
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
