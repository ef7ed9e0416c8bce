/** Controllers as an application of NestJS has them: nothing in this file knows who runs it. */
import 'reflect-metadata'
import { Controller, UseFilters, UseGuards, UseInterceptors } from '@nestjs/common'
import {
  GrpcExceptionFilter,
  GrpcMethod,
  GrpcNotFoundException,
  GrpcStreamCall,
  GrpcStreamMethod,
  Payload,
  RpcException
} from '@nestjs/microservices'
import { concatMap, from, map, NEVER, Observable, of, Subject, scan, throwError } from 'rxjs'

interface Query {
  readonly id?: string
  readonly count?: number
}
export interface Metadata {
  get(name: string): (string | Buffer)[]
  getMap(): Record<string, string | Buffer>
  set(name: string, value: string | Buffer): void
  add(name: string, value: string | Buffer): void
  clone(): Metadata
}
interface Call {
  readonly metadata: Metadata
  readonly request: unknown
  readonly cancelled: boolean
  getPeer(): string
  getPath(): string
  getDeadline(): number
  sendMetadata(metadata: Metadata): void
  on(event: 'cancelled', listener: () => void): void
}
interface StreamCall extends Omit<Call, 'on'> {
  on(event: string, listener: (...args: never[]) => void): void
  emit(event: string, value: unknown): boolean
  write(value: object): boolean
  end(metadata?: Metadata): void
}

/** Facts that tests ask for. */
export const seen = { cancelled: new Subject<string>(), completed: new Subject<string>() }

@Controller()
export class OrdersController {
  @GrpcMethod('Orders', 'Get')
  get({ id }: Query, metadata: Metadata, call: Call) {
    const back = metadata.clone()
    back.set('x-seen', [...metadata.get('x-user')].join('+'))
    back.set('x-path', call.getPath())
    call.sendMetadata(back)
    const left = call.getDeadline() - Date.now()
    const isSame = call.metadata.get('x-user')[0] === metadata.get('x-user')[0]
    const token = metadata.get('token-bin')[0]
    return {
      id,
      kind: 2,
      card: [
        isSame,
        typeof call.getPeer(),
        left === Infinity ? 'for ever' : left > 1_000 && left <= 60_000,
        Buffer.isBuffer(token) ? token.toString('hex') : token,
        metadata.getMap()['x-user']
      ].join()
    }
  }

  @GrpcMethod('shop.v1.Orders', 'Echo')
  async echo(@Payload() order: object) {
    return order
  }

  @GrpcMethod('Orders')
  fail({ id }: Query, metadata: Metadata): Observable<object> | object {
    if (id === 'numbered') throw new RpcException({ code: 5, message: 'No order', details: 'in no shop' })
    if (id === 'message') throw new RpcException({ code: 9, message: 'Not now: ü 100%' })
    if (id === 'text') throw new RpcException('only words')
    if (id === 'unexpected') throw new Error('a secret')
    if (id === 'later') return throwError(() => new RpcException({ code: 8, message: 'too many' }))
    if (id === 'trailers') {
      const back = metadata.clone()
      back.set('x-why', 'because')
      throw new RpcException({ code: 6, message: 'There is one', metadata: back } as object)
    }
    return Promise.reject(new RpcException({ code: 7, message: 'not you' }))
  }

  @UseFilters(new GrpcExceptionFilter())
  @UseGuards({ canActivate: () => true })
  @UseInterceptors({
    intercept: (_context, next) =>
      next.handle().pipe(map((value: { text: string }) => ({ ...value, text: `<${value.text}>` })))
  })
  @GrpcMethod('Orders')
  ask({ id, count = 0 }: Query) {
    if (id === 'missing') throw new GrpcNotFoundException('nothing there')
    if (id === 'odd') throw new Error('odd')
    if (id === 'wait') return NEVER
    return of({ text: id, count: count + 1 })
  }

  @GrpcMethod('Orders')
  watch({ id, count = 3 }: Query, _metadata: Metadata, call: Call): Observable<object> {
    call.on('cancelled', () => seen.cancelled.next(`watch ${call.cancelled}`))
    if (id === 'for ever')
      return new Observable((subscriber) => {
        subscriber.next({ text: 'first' })
        return () => seen.completed.next('unsubscribed')
      })
    return from(Array.from({ length: count }, (_, n) => ({ text: id, count: n }))).pipe(
      concatMap((value) =>
        id === 'breaks' && value.count === 2
          ? throwError(() => new RpcException({ code: 15, message: 'broken' }))
          : of(value)
      )
    )
  }

  @GrpcStreamMethod('Orders', 'Upload')
  async upload(orders: Observable<{ prices: number[] }>, metadata: Metadata): Promise<Observable<object>> {
    const count = new Subject<number>()
    let seenOrders = 0
    orders.subscribe({ next: () => seenOrders++, complete: () => count.complete() })
    await Promise.resolve()
    return orders.pipe(
      scan((sum, { prices }) => sum + prices.reduce((a, b) => a + b, 0), 0),
      map((sum) => ({ text: `${metadata.get('x-user')[0] ?? 'nobody'} of ${seenOrders}`, count: sum }))
    )
  }

  @GrpcStreamMethod('Orders')
  chat(queries: Observable<Query>, _metadata: Metadata, call: Call): Observable<object> {
    call.on('cancelled', () => seen.cancelled.next('chat'))
    // NestJS passes the handler's own error to other subscribers, and one that nobody expects ends its process.
    queries.subscribe({ complete: () => seen.completed.next('chat'), error() {} })
    return queries.pipe(
      concatMap(({ id, count = 0 }) => {
        if (id === 'fail') throw new RpcException({ code: 3, message: 'bad query' })
        return of({ text: `${id}?`, count }, { text: `${id}!`, count })
      })
    )
  }

  @GrpcStreamCall('Orders')
  raw(call: StreamCall) {
    const back = call.metadata.clone()
    back.set('x-raw', 'yes')
    call.sendMetadata(back)
    call.on('data', ({ id, count = 0 }: Query) => {
      if (id === 'fail') call.emit('error', Object.assign(new Error('raw failure'), { code: 10 }))
      else for (let n = 0; n < count; n++) call.write({ text: id ?? '', count: n })
    })
    call.on('cancelled', () => seen.cancelled.next('raw'))
    call.on('end', () => {
      const trailers = call.metadata.clone()
      trailers.set('x-end', 'done')
      call.end(trailers)
    })
  }

  @GrpcStreamCall('Orders')
  count(call: StreamCall, callback: (error: object | null, value?: object) => void) {
    let count = 0
    call.on('data', (query: Query) => {
      count += query.count ?? 0
    })
    call.on('end', () =>
      count < 0 ? callback({ code: 11, message: 'below zero' }) : callback(null, { text: 'sum', count })
    )
  }
}

@Controller()
export class RatesController {
  @GrpcMethod('shop.common.Rates', 'Convert')
  convert(money: { currency: string; units: unknown }) {
    return { ...money, currency: `${money.currency}→EUR` }
  }
}
