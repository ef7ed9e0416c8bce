/** Changes that `npm run mutants` could make and that nobody could notice, each with the reason. They do not count. */

export interface Equivalent {
  /** The end of the source's path. */
  readonly file: string
  /** The line as it is, and what it becomes; empty: the statement is gone. */
  readonly before: string
  readonly after: string
  readonly why: string
}

const TCP = 'tcp/src'

export const EQUIVALENT: readonly Equivalent[] = [
  {
    file: `${TCP}/rsocket/payload.ts`,
    before: 'if ((flags & Flag.METADATA) === 0) return newPayload(buffer, -1, -1, at, end)',
    after: 'if ((flags & Flag.METADATA) === 0) return newPayload(buffer, -2, -1, at, end)',
    why: 'any negative number means that there is none'
  },
  {
    file: `${TCP}/rsocket/stream-frames.ts`,
    before: 'return this.#request({ type, streamId, initialN: 1, complete: false }, flags, buffer, at, end)',
    after: 'return this.#request({ type, streamId, initialN: 2, complete: false }, flags, buffer, at, end)',
    why: 'only streams look at their demand'
  },
  {
    file: `${TCP}/rsocket/stream-frames.ts`,
    before: 'if (n === 0) return',
    after: '',
    why: 'a demand of none more changes nothing either'
  },
  {
    file: `${TCP}/rsocket/requester.ts`,
    before: 'const demand = initialN < 0 ? -1 : initialN + call.extraDemand',
    after: 'const demand = initialN <= 0 ? -1 : initialN + call.extraDemand',
    why: 'a stream asks for one value at least'
  },
  {
    file: `${TCP}/rsocket/request-metadata.ts`,
    before: 'this.#last = known',
    after: '',
    why: 'saves a look-up'
  },
  {
    file: `${TCP}/rsocket/request-metadata.ts`,
    before: 'this.#lastRoute = route',
    after: '',
    why: 'saves a look-up'
  },
  {
    file: `${TCP}/rsocket/request-metadata.ts`,
    before: 'out.reset()',
    after: '',
    why: 'gives the memory to the next writer'
  },
  {
    file: `${TCP}/rsocket/frame-reader.ts`,
    before: 'start = 0',
    after: 'start = 1',
    why: 'is set before it is read'
  },
  {
    file: `${TCP}/client/first-chunk.ts`,
    before: 'this.output?.adopt(this.#protocol)',
    after: '',
    why: 'saves a call for each chunk'
  },
  {
    file: `${TCP}/limits/adaptive-concurrency.ts`,
    before: '#peak = 0',
    after: '#peak = 1',
    why: 'the first request makes it one'
  },
  {
    file: `${TCP}/rsocket/composite-metadata.ts`,
    before: 'out.uint24(0)',
    after: 'out.uint24(1)',
    why: 'is written over when the entry ends'
  },
  {
    file: `${TCP}/rsocket/frames.ts`,
    before: 'out.frameHeader(0, streamId, (type << TYPE_SHIFT) | flags)',
    after: 'out.frameHeader(1, streamId, (type << TYPE_SHIFT) | flags)',
    why: 'is written over when the frame ends'
  },
  {
    file: `${TCP}/rsocket/resume.ts`,
    before: 'this.#frames.push(at === 0 && end === bytes.length ? bytes : bytes.subarray(at, end))',
    after: 'this.#frames.push(at === 1 && end === bytes.length ? bytes : bytes.subarray(at, end))',
    why: 'saves a view of the same bytes'
  },
  {
    file: `${TCP}/rsocket/resume.ts`,
    before: 'if (this.#head < 1024 || this.#head * 2 < this.#frames.length) return',
    after: 'if (this.#head <= 1024 || this.#head * 2 < this.#frames.length) return',
    why: 'when the list is made shorter is a matter of time and memory'
  },
  {
    file: `${TCP}/rsocket/resume.ts`,
    before: 'if (this.#head < 1024 || this.#head * 2 < this.#frames.length) return',
    after: 'if (this.#head < 1025 || this.#head * 2 < this.#frames.length) return',
    why: 'when the list is made shorter is a matter of time and memory'
  },
  {
    file: `${TCP}/rsocket/resume.ts`,
    before: 'if (this.#head < 1024 || this.#head * 2 < this.#frames.length) return',
    after: 'if (this.#head < 1024 || this.#head * 2 <= this.#frames.length) return',
    why: 'when the list is made shorter is a matter of time and memory'
  },
  {
    file: `${TCP}/rsocket/resume.ts`,
    before: 'if (this.#head < 1024 || this.#head * 2 < this.#frames.length) return',
    after: 'if (this.#head < 1024 || this.#head * 3 < this.#frames.length) return',
    why: 'when the list is made shorter is a matter of time and memory'
  },
  {
    file: `${TCP}/rsocket/resume.ts`,
    before: 'if (this.#head < 1024 || this.#head * 2 < this.#frames.length) return',
    after: 'if (this.#head < 1024 && this.#head * 2 < this.#frames.length) return',
    why: 'when the list is made shorter is a matter of time and memory'
  },
  {
    file: `${TCP}/rsocket/resume.ts`,
    before: 'if (this.#head < 1024 || this.#head * 2 < this.#frames.length) return',
    after: '',
    why: 'when the list is made shorter is a matter of time and memory'
  },
  {
    file: `${TCP}/rsocket/resumable-connections.ts`,
    before: 'if (bytes > 0) queueMicrotask(() => this.#limit(address))',
    after: 'if (bytes >= 0) queueMicrotask(() => this.#limit(address))',
    why: 'a look at what has not grown finds nothing'
  },
  {
    file: `${TCP}/rsocket/stream-frames.ts`,
    before: 'return this.#request({ type, streamId, initialN: 1, complete: false }, flags, buffer, at, end)',
    after: 'return this.#request({ type, streamId, initialN: 1, complete: true }, flags, buffer, at, end)',
    why: 'only channels look at it'
  },
  {
    file: `${TCP}/rsocket/frame-reader.ts`,
    before: 'start = 0',
    after: '',
    why: 'is set before it is read'
  },
  {
    file: `${TCP}/rsocket/frame-reader.ts`,
    before: 'end = 0',
    after: 'end = 1',
    why: 'is set before it is read'
  },
  {
    file: `${TCP}/rsocket/frame-reader.ts`,
    before: 'end = 0',
    after: '',
    why: 'is set before it is read'
  },
  {
    file: `${TCP}/rsocket/client-connection.ts`,
    before: '#lastHeard = 0',
    after: '#lastHeard = 1',
    why: 'is set when the socket opens, before it is read'
  }
]
