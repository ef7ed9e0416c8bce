/** Controllers for the specs of NestJS's own suites of gRPC. */
import 'reflect-metadata'
import { Controller } from '@nestjs/common'
import { GrpcMethod, GrpcStreamCall, GrpcStreamMethod, RpcException } from '@nestjs/microservices'
import { EMPTY, from, ignoreElements, map, mergeMap, Observable, of, Subject, toArray } from 'rxjs'
import type { Metadata } from './controller.ts'

interface Numbers {
  readonly numbers?: readonly number[]
}
interface Division {
  readonly dividend: number
  readonly divisor?: number
}
/** The call of `@GrpcStreamCall()`. */
interface RawCall {
  on(event: string, listener: (value: never) => void): void
  write(value: object): void
}
type Callback = (error: object | null, value?: object) => void

const sumOf = ({ numbers = [] }: Numbers) => ({ sum: numbers.reduce((one, other) => one + other, 0) })
const refused = (what: string) => new RpcException({ code: 3, message: `${what} is refused` })
/** Messages of more than a megabyte fill all buffers at once. */
const LARGE = 'a'.repeat(1024 * 1024)

/** How the messages of a call have ended for its handler. */
export const ended = new Subject<string>()

@Controller()
export class SumsController {
  @GrpcMethod('Sums')
  async add(data: Numbers) {
    return of(sumOf(data))
  }

  @GrpcMethod('Products')
  async multiply({ numbers = [] }: Numbers) {
    return { product: numbers.reduce((one, other) => one * other, 1) }
  }

  @GrpcStreamMethod('Sums')
  async addEach(messages: Observable<Numbers>) {
    return new Promise((resolve, reject) => {
      messages.subscribe({ next: (data) => resolve(sumOf(data)), error: reject })
    })
  }

  @GrpcStreamCall('Sums')
  async addRaw(call: RawCall) {
    call.on('data', (data: Numbers) => call.write(sumOf(data)))
  }

  @GrpcMethod('Sums')
  async divide({ dividend, divisor = 0 }: Division) {
    if (divisor === 0) throw new RpcException({ code: 3, message: 'nothing can be divided by 0' })
    return { sum: dividend / divisor }
  }

  @GrpcMethod('Sums', 'DivideEach')
  divideEach({ divisions }: { readonly divisions: readonly Division[] }) {
    return from(divisions).pipe(mergeMap((one) => this.divide(one)))
  }

  /** A source that nobody can slow down. */
  @GrpcMethod('Sums')
  large({ count }: { readonly count: number }) {
    return new Observable((subscriber) => {
      let id = 0
      const timer = setInterval(() => {
        subscriber.next({ id: id++, text: LARGE })
        if (id === count) subscriber.complete()
      }, 0)
      return () => clearInterval(timer)
    })
  }

  @GrpcMethod('Sums')
  empty() {
    return EMPTY
  }

  @GrpcStreamMethod('Sums')
  collectEmpty(messages: Observable<Numbers>) {
    return messages.pipe(ignoreElements())
  }

  @GrpcStreamMethod('Sums')
  collectVoid(messages: Observable<Numbers>) {
    return messages.pipe(
      toArray(),
      map(() => undefined)
    )
  }

  @GrpcStreamCall('Sums')
  rawThrows() {
    throw refused('the stream')
  }

  @GrpcStreamCall('Sums')
  async rawRejects() {
    throw refused('the stream')
  }

  @GrpcStreamMethod('Sums')
  rejectLater(messages: Observable<Numbers>) {
    const answers = new Subject<object>()
    messages.subscribe({
      next: () => answers.error(refused('the message')),
      error: () => ended.next('error'),
      complete: () => ended.next('complete')
    })
    return answers
  }

  @GrpcStreamCall('Sums')
  collectThrows() {
    throw refused('the collection')
  }
}

const PARCEL = { id: 1, parcel_kinds: [1], route: { from: 'Berlin', to: 'Paris' } }

/** The name of the service is the one within the package of the server, which is `parcels`. */
@Controller()
export class ParcelsController {
  @GrpcMethod('v1.Parcels')
  async find() {
    return of(PARCEL)
  }

  @GrpcStreamMethod('v1.Parcels')
  async track(
    messages: Observable<object>,
    metadata: Metadata,
    call: { sendMetadata(metadata: Metadata): void }
  ) {
    const back = metadata.clone()
    back.set('Set-Cookie', 'seen=yes')
    call.sendMetadata(back)
    const answers = new Subject<object>()
    messages.subscribe({ next: () => answers.next(PARCEL), error() {} })
    return answers.asObservable()
  }

  @GrpcStreamCall('v1.Parcels')
  async trackRaw(call: RawCall) {
    call.on('data', () => call.write(PARCEL))
  }

  @GrpcStreamMethod('v1.Parcels')
  async collect(messages: Observable<object>) {
    const answers = new Subject<object>()
    messages.subscribe({ next: () => answers.next(PARCEL), complete: () => answers.complete() })
    return answers.asObservable()
  }

  @GrpcStreamCall('v1.Parcels')
  async collectRaw(call: RawCall, callback: Callback) {
    call.on('data', () => {})
    call.on('end', () => callback(null, PARCEL))
  }
}
