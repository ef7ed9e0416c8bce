/** Reads Server-Sent Events from the body of a response: `EventSource` can only ask by GET. */

/** One event. */
export interface ServerEvent {
  readonly name: string
  readonly data: string
}

/** Splits the text of a stream into events, wherever its pieces end. */
export class EventReader {
  #rest = ''

  /** The events that end in this piece. */
  read(piece: string): ServerEvent[] {
    const blocks = (this.#rest + piece).split('\n\n')
    this.#rest = blocks.pop() as string
    return blocks.flatMap((block) => {
      let name = 'message'
      const data: string[] = []
      for (const line of block.split('\n')) {
        if (line.startsWith('event: ')) name = line.slice(7)
        else if (line.startsWith('data: ')) data.push(line.slice(6))
      }
      return data.length === 0 ? [] : [{ name, data: data.join('\n') }]
    })
  }
}

/** All events of a response. */
export async function* eventsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const reader = body.getReader()
  const events = new EventReader()
  const decoder = new TextDecoder()
  try {
    while (true) {
      const { value, done } = await reader.read()
      if (done) return
      yield* events.read(decoder.decode(value, { stream: true }))
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}
