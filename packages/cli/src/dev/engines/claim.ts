/**
 * The data of an engine belong to one `dev` at a time. Each `dev` that wants them writes a file of its own beside them, and
 * only then looks for files of others: of two that come at the same moment the later one always sees the earlier one, so
 * both can never have the data. A file counts as long as its owner listens, and no name is used twice: to remove the file
 * of a `dev` that was killed cannot hurt anybody.
 */
import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import net from 'node:net'
import { basename, dirname, join } from 'node:path'

/** The `dev` that has claimed the data. */
export interface Owner {
  /** A socket that is open while it runs. */
  readonly socket: string
  /** Where its engine is. */
  readonly url: string
}

/** Outcome of `claim`: this process owns the data now, or somebody else does. */
export type Claimed = { readonly release: () => void } | { readonly owner: Owner }

/** How often it looks, and milliseconds between: others who try at the same moment are gone then, an owner is not. */
const LOOKS = 10
const PAUSE = 50

/**
 * Takes the data of an engine, unless somebody else has them.
 * @param folder of the data
 */
export async function claim(folder: string, own: Owner): Promise<Claimed> {
  const place = dirname(folder)
  const prefix = `${basename(folder)}.lock-`
  // In the order of time, so that an owner comes before those who try.
  const name = `${prefix}${Date.now()}-${randomUUID()}`
  const file = join(place, name)
  const release = () => rmSync(file, { force: true })
  let owner = own
  let isWaiting = false
  for (let look = 0; look < LOOKS; look++) {
    // A file of that name is whole.
    if (!isWaiting) {
      writeFileSync(`${file}.draft`, JSON.stringify(own))
      renameSync(`${file}.draft`, file)
    }
    const others = await othersOf(place, prefix, name)
    const [first] = others
    if (first === undefined && !isWaiting) return { release }
    if (first !== undefined) owner = first.owner
    // Of those who try at the same moment the first stays, and the others make room for it.
    isWaiting = first !== undefined && first.name < name
    if (isWaiting) release()
    await new Promise((resolve) => setTimeout(resolve, first === undefined ? 0 : PAUSE))
  }
  release()
  return { owner }
}

/** Files of others who run, in their order; those of others who do not are removed. */
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
