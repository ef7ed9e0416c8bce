/**
 * Connects packages that have traces or figures with packages that observe them, although neither imports the other.
 * Nothing happens until both are loaded.
 */
import { developmentTracer } from './development-trace.ts'
import type { MessageHeaders } from './headers.ts'

let writeTrace: ((headers: MessageHeaders | undefined) => MessageHeaders | undefined) | undefined

/**
 * Sets the function that writes the current trace into a copy of headers. Without a current trace, the function returns
 * the headers unchanged.
 */
export function writeTracesBy(write: typeof writeTrace): void {
  writeTrace = write
}

/** Adds the current trace, if there is one, to the headers of a message that another process sends later. */
export function withCurrentTrace(headers: MessageHeaders | undefined): MessageHeaders | undefined {
  const written = writeTrace === undefined ? headers : writeTrace(headers)
  return developmentTracer()?.headers(written) ?? written
}

/** A source of figures in this process. */
export interface FigureSource {
  /** The kind of the source, such as `outbox`. */
  readonly name: string
  /** Attributes that distinguish the source from others with the same name. */
  readonly attributes: Readonly<Record<string, string>>
  /** Reads the current figures. If it rejects, the source has no figures. */
  read(): Promise<Readonly<Record<string, number>>>
}

const sources = new Set<FigureSource>()

/** Makes a source of figures visible to observers. Returns a function that removes the source. */
export function tellFigures(source: FigureSource): () => void {
  sources.add(source)
  return () => void sources.delete(source)
}

/** Returns all sources of figures. */
export function figureSources(): readonly FigureSource[] {
  return [...sources]
}

/** Figures that were read from a source. */
export interface ReadFigures {
  readonly name: string
  readonly attributes: FigureSource['attributes']
  readonly figures: Readonly<Record<string, number>>
}

/** Most milliseconds for reading one source, because the observer does not wait long. */
const PATIENCE = 1_000

let reading: Promise<readonly ReadFigures[]> | undefined

/**
 * Reads all sources; a source that fails is left out. A call during a reading gets the result of that reading. Never
 * rejects.
 */
export function readFigures(): Promise<readonly ReadFigures[]> {
  reading ??= Promise.all([...sources].map(read))
    .then((all) => all.filter((each) => each !== undefined))
    .finally(() => {
      reading = undefined
    })
  return reading
}

async function read(source: FigureSource): Promise<ReadFigures | undefined> {
  let late: ReturnType<typeof setTimeout> | undefined
  const tooLate = new Promise<undefined>((resolve) => {
    late = setTimeout(resolve, PATIENCE, undefined)
  })
  try {
    const read = await Promise.race([source.read(), tooLate])
    if (read === undefined) return undefined
    const numbers = Object.entries(read).filter(([, value]) => typeof value === 'number')
    return { name: source.name, attributes: source.attributes, figures: Object.fromEntries(numbers) }
  } catch {
    return undefined
  } finally {
    clearTimeout(late)
  }
}
