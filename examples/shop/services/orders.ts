/**
 * Takes orders and completes them, also while the services that it needs stop and start. Written as classes with
 * NestJS's decorators.
 */

import { tcp } from '@elysia-microservices/tcp'
import { telemetry } from '@elysia-microservices/telemetry'
import { type DeclaredError, type MicroserviceError, microservice } from 'elysia-microservices'
import { connect, type Outcome } from 'elysia-microservices/client'
import { Ctx, decoratorsOf, EventPattern, Payload, type RpcContext } from 'elysia-microservices/nest'
import { type Observable, ReplaySubject } from 'rxjs'
import { addressOf, broker } from '../environment.ts'
import { OUT_OF_STOCK } from '../errors.ts'
import type { Charged } from './payments.ts'
import type { stock as stockService } from './stock.ts'

export interface Order {
  /** Chosen by the customer's browser, so that an order that is sent twice counts as one order. */
  readonly id: string
  readonly sku: string
  readonly count: number
}

/** A step in the progress of an order. */
export interface Progress {
  readonly step: 'placed' | 'reserved' | 'paid' | 'shipped'
}

type NotFound = DeclaredError<'NOT_FOUND', undefined>
type OutOfStock = DeclaredError<'OUT_OF_STOCK', { left: number }>

/** The contract of this service. */
export interface Orders {
  'orders.place'(order: Order): { id: string }
  'orders.progress'(order: { id: string }): Observable<Progress> | NotFound | OutOfStock
  'orders.left'(item: { sku: string }): { left: number } | NotFound
}

/** Milliseconds for one attempt of a step, and milliseconds between two attempts. */
const ATTEMPT = 1_000
const PAUSE = 200

const stock = connect<typeof stockService>({ ...addressOf('stock'), timeout: ATTEMPT })

const { MessagePattern, fail } = decoratorsOf<Orders>()

class OrdersController {
  readonly #orders = new Map<string, ReplaySubject<Progress>>()
  /** Orders whose step `reserved` was already added to their progress. */
  readonly #told = new Set<string>()

  @MessagePattern('orders.place')
  place(@Payload() order: Order): { id: string } {
    if (!this.#orders.has(order.id)) {
      const steps = new ReplaySubject<Progress>()
      this.#orders.set(order.id, steps)
      // The customer does not wait for the rest: the progress of the order tells the result.
      void this.#fulfil(order, steps)
    }
    return { id: order.id }
  }

  /**
   * The progress of an order. The stream ends with the error of the service that could not do its step, if the
   * contract declares this error.
   */
  @MessagePattern('orders.progress', {
    errors: { NOT_FOUND: {}, OUT_OF_STOCK },
    passes: ['NOT_FOUND', 'OUT_OF_STOCK']
  })
  progress(@Payload() { id }: { id: string }): Observable<Progress> {
    const steps = this.#orders.get(id)
    if (steps === undefined) throw fail('NOT_FOUND', undefined, `There is no order ${id}`)
    return steps
  }

  /**
   * How much of an article is left. The call to `stock` has only the time that is left to the caller of this request.
   */
  @MessagePattern('orders.left', { errors: { NOT_FOUND: {} }, passes: ['NOT_FOUND'] })
  left(@Payload() item: { sku: string }, @Ctx() context: RpcContext): Promise<{ left: number }> {
    return stock.request('stock.left', item, { within: context, idempotent: true })
  }

  /** The last step of an order that this process has taken: the order is paid, and can be shipped. */
  @EventPattern('payments.charged', { durable: true })
  charged(@Payload() { order }: Charged): void {
    const steps = this.#orders.get(order)
    if (steps === undefined) return
    // The event of the payment may be here before the answer of `stock`: that answer is lost if `stock` is killed
    // right after its transaction.
    this.#reserved(order, steps)
    steps.next({ step: 'paid' })
    steps.next({ step: 'shipped' })
    steps.complete()
  }

  /**
   * Reserves the articles. The payments service handles the event of the reservation, and publishes an event when the
   * order is paid.
   */
  async #fulfil({ id, sku, count }: Order, steps: ReplaySubject<Progress>): Promise<void> {
    const reservation = { order: id, sku, count }
    steps.next({ step: 'placed' })
    const { error } = await untilAnswered(() =>
      stock.safe.request('stock.reserve', reservation, { idempotent: true })
    )
    if (error === null) this.#reserved(id, steps)
    else steps.error(error)
  }

  #reserved(id: string, steps: ReplaySubject<Progress>): void {
    if (this.#told.has(id)) return
    this.#told.add(id)
    steps.next({ step: 'reserved' })
  }
}

/**
 * Repeats a call until there is an answer, even an error. The work of a call whose answer was lost may have been
 * done. That does no harm, because the service does the work for each order only once.
 */
async function untilAnswered<Value, Failure extends MicroserviceError>(
  ask: () => Promise<Outcome<Value, Failure>>
): Promise<Outcome<Value, Failure>> {
  for (;;) {
    const outcome = await ask()
    // The service is busy, stopping, not there or too late: the same call may be answered later.
    if (outcome.error?.retryable !== true) return outcome
    await new Promise((resolve) => setTimeout(resolve, PAUSE))
  }
}

const orders = microservice({
  name: 'orders',
  transport: [tcp(addressOf('orders')), broker()],
  controllers: [OrdersController]
}).wrap(telemetry())
await orders.listen()
