/**
 * Where packages that do not send messages themselves meet those that observe: neither knows the other. Nothing happens
 * until both are there.
 */
import { developmentTracer } from './development-trace.ts'
import type { Headers } from './headers.ts'

let writeTrace: ((headers: Headers | undefined) => Headers | undefined) | undefined

/**
 * Sets the function that writes the current trace into a copy of headers. Without a current trace it returns them as
 * they are.
 */
export function writeTracesBy(write: typeof writeTrace): void {
  writeTrace = write
}

/** Headers for a message that is sent later, by somebody else: with the current trace, if there is one. */
export function withCurrentTrace(headers: Headers | undefined): Headers | undefined {
  const written = writeTrace === undefined ? headers : writeTrace(headers)
  return developmentTracer()?.headers(written) ?? written
}

/** Figures of something in this process. */
export interface FigureSource {
  /** Its kind, such as `outbox`. */
  readonly name: string
  /** Attributes that tell it from others of its name. */
  readonly attributes: Readonly<Record<string, string>>
  /** Reads them now. May reject: then there are none. */
  read(): Promise<Readonly<Record<string, number>>>
}

const sources = new Set<FigureSource>()

/** Lets observers read figures, until the returned function is called. */
export function tellFigures(source: FigureSource): () => void {
  sources.add(source)
  return () => void sources.delete(source)
}

/** All whose figures can be read. */
export function figureSources(): readonly FigureSource[] {
  return [...sources]
}

/** Figures that were read from a source. */
export interface ReadFigures {
  readonly name: string
  readonly attributes: FigureSource['attributes']
  readonly figures: Readonly<Record<string, number>>
}

/** Milliseconds that a reading may take: who asks does not wait long. */
const PATIENCE = 1_000

let reading: Promise<readonly ReadFigures[]> | undefined

/** Reads all sources but those that fail; who asks meanwhile waits for the same reading. Never rejects. */
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
    const figures = await Promise.race([source.read(), tooLate])
    return figures && { name: source.name, attributes: source.attributes, figures }
  } catch {
    return undefined
  } finally {
    clearTimeout(late)
  }
}
