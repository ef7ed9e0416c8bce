/** A worker as its supervisor sees it: a process that is started, becomes ready, answers questions, and ends. */
import type { ChildProcess } from 'node:child_process'
import { type TransportStats, WorkerError } from '@elysia-microservices/transport/kit'
import { type FromWorker, marked, type Question, type ToWorker, unmarked } from './messages.ts'

/** Milliseconds that a worker may take to answer a question. A worker that takes longer is taken for blocked. */
const ANSWER_TIMEOUT = 10_000

interface Asker {
  resolve(stats: readonly TransportStats[] | undefined): void
  reject(error: Error): void
}

/** One worker process. */
export class WorkerProcess {
  readonly worker: number
  /** Resolves when the worker listens; rejects if it cannot listen. */
  readonly ready: Promise<void>
  /** Resolves when the process has ended, with its exit code or signal in words. */
  readonly ended: Promise<string>
  /** Whether the worker listens. */
  isReady = false
  /** Whether the worker has ever listened, so that it may have work in flight. */
  hasListened = false
  /** When the worker was ready for calls, in milliseconds of `performance.now()`; `undefined`: it never was. */
  #servesSince: number | undefined
  readonly #process: ChildProcess
  readonly #askers = new Map<number, Asker>()
  #lastId = 0
  #isOver = false

  constructor(worker: number, launched: ChildProcess, startTimeout: number) {
    this.worker = worker
    this.#process = launched
    this.ended = new Promise((resolve) => {
      launched.once('exit', (code, signal) => resolve(signal === null ? `code ${code}` : signal))
      // Without a pid the process could not be started, and no `exit` event follows. After other errors the process
      // is still running.
      launched.on('error', (error) => launched.pid === undefined && resolve(error.message))
    })
    this.ready = new Promise((resolve, reject) => {
      const fail = (reason: string) => {
        clearTimeout(late)
        reject(this.#error(reason))
      }
      const late = setTimeout(() => fail(`it did not listen within ${startTimeout} ms`), startTimeout)
      launched.on('message', (received) => {
        const message = unmarked<FromWorker>(received)
        if (message?.type === 'ready') {
          this.isReady = true
          this.hasListened = true
          clearTimeout(late)
          resolve()
        } else if (message?.type === 'failed') fail(message.reason)
        else if (message !== undefined) this.#answered(message)
      })
      void this.ended.then((end) => {
        this.isReady = false
        this.#isOver = true
        fail(`it ended (${end}) before it listened`)
        for (const asker of this.#askers.values()) asker.reject(this.#error('it has ended'))
      })
    })
    // Not every caller waits for `ready`, so its rejection must not count as unhandled.
    this.ready.catch(() => {})
  }

  get pid(): number | undefined {
    return this.#process.pid
  }

  /** Milliseconds since the worker was ready for calls; 0 if it never was. */
  get lifetime(): number {
    return this.#servesSince === undefined ? 0 : performance.now() - this.#servesSince
  }

  /** The worker listens, and has all that the other workers know: its life begins. */
  serves(): void {
    this.#servesSince = performance.now()
  }

  /**
   * Asks the worker a question.
   * @throws {WorkerError} the worker ends before it answers, takes longer than 10 s, or fails to do what the
   * question asks for
   */
  ask(question: Question): Promise<readonly TransportStats[] | undefined> {
    const id = ++this.#lastId
    const answer = new Promise<readonly TransportStats[] | undefined>((resolve, reject) => {
      if (this.#isOver) return reject(this.#error('it has ended'))
      this.#askers.set(id, { resolve, reject })
      this.#send({ type: 'question', id, question })
    })
    const late = setTimeout(() => {
      this.#askers.get(id)?.reject(this.#error(`it did not answer within ${ANSWER_TIMEOUT} ms`))
    }, ANSWER_TIMEOUT)
    return answer.finally(() => {
      clearTimeout(late)
      this.#askers.delete(id)
    })
  }

  /**
   * Stops the worker after its work in flight, and kills the process if that takes too long.
   * @param timeout milliseconds that the worker may take to end
   * @param isReplaced whether another process has taken the worker's place
   * @returns whether the process has ended by itself
   */
  async stop(timeout: number, isReplaced = false): Promise<boolean> {
    this.isReady = false
    this.#send({ type: 'stop', isReplaced })
    let killed = false
    const late = setTimeout(() => {
      killed = true
      this.kill()
    }, timeout)
    await this.ended
    clearTimeout(late)
    return !killed
  }

  /** Kills the process at once. */
  kill(): void {
    this.#process.kill('SIGKILL')
  }

  #send(message: ToWorker): void {
    // A closed channel means that the process is ending anyway.
    if (this.#process.connected) this.#process.send(marked(message), () => {})
  }

  #answered(message: FromWorker): void {
    if (message.type !== 'answer' && message.type !== 'no-answer') return
    const asker = this.#askers.get(message.id)
    if (message.type === 'answer') asker?.resolve(message.stats)
    else asker?.reject(this.#error(message.reason))
  }

  #error(reason: string): WorkerError {
    return new WorkerError(this.worker, this.pid, reason)
  }
}
