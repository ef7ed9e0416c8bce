/** A small service for tests: a dispatcher with a few patterns, and servers and clients that use it. */
import {
  type Dispatcher,
  type IncomingMessage,
  type Logger,
  PatternNotFoundError,
  type Route,
  RpcError
} from '@elysia-microservices/transport/kit'

/** A logger that records its lines. */
export class RecordingLogger implements Logger {
  readonly lines: string[] = []

  error(message: string): void {
    this.lines.push(message)
  }

  warn(message: string): void {
    this.lines.push(message)
  }
}

/** The handlers of tests, which record the messages that reach them, in order. */
export class TestDispatcher implements Dispatcher {
  readonly events: unknown[] = []
  /** Messages that are waiting for `answer`, oldest first. */
  readonly waiting: { message: IncomingMessage; answer: (value: unknown) => void }[] = []
  /** Called whenever a handler has begun. */
  began: (message: IncomingMessage) => void = () => {}
  /** Number of values that the endless generator has made, and whether it was ended. */
  made = 0
  ended: Promise<void>
  #end: () => void = () => {}

  constructor() {
    this.ended = new Promise((resolve) => {
      this.#end = resolve
    })
  }

  /** The next message whose handler begins. */
  begins(): Promise<IncomingMessage> {
    return new Promise((resolve) => {
      this.began = resolve
    })
  }

  routes(): readonly Route[] {
    return []
  }

  request(message: IncomingMessage): unknown {
    const result = this.#answer(message)
    this.began(message)
    return result
  }

  event(message: IncomingMessage): void {
    this.events.push(message.data)
  }

  #answer(message: IncomingMessage): unknown {
    switch (message.route) {
      case 'echo':
        return message.data
      case 'headers':
        return message.headers
      case 'later':
        return Promise.resolve(message.data)
      case 'wait':
        return new Promise((answer) => this.waiting.push({ message, answer }))
      case 'count':
        return count(message.data as number)
      case 'burst':
        return burst(message.data as number)
      case 'endless':
        return this.#endless()
      case 'fail':
        throw new RpcError({ code: 'E', message: 'm', details: { d: 1 } })
      case 'bug':
        throw new Error('secret')
      case 'sum':
        return sum(message.data as AsyncIterable<number>)
      default:
        throw PatternNotFoundError.of(message.pattern)
    }
  }

  async *#endless(): AsyncGenerator<number> {
    try {
      while (true) yield this.made++
    } finally {
      this.#end()
    }
  }
}

/** Makes an Observable that emits `to` values at once, and never ends. */
function burst(to: number) {
  return {
    '@@observable'() {
      return this
    },
    subscribe(observer: { next(value: number): void }) {
      for (let n = 0; n < to; n++) observer.next(n)
      return { unsubscribe() {} }
    }
  }
}

async function* count(to: number): AsyncGenerator<number> {
  for (let n = 0; n < to; n++) yield n
}

async function sum(values: AsyncIterable<number>): Promise<number> {
  let total = 0
  for await (const value of values) total += value
  return total
}
