import { Inject, Injectable } from '@nestjs/common'
import { ClientProxy } from '@nestjs/microservices'
import { firstValueFrom } from 'rxjs'
import { type Order, OrderError } from './order.ts'
import { PlaceOrderDto } from './place-order.dto.ts'

/** The client to the service that knows what is in stock. */
export const STOCK = 'STOCK'

@Injectable()
export class OrdersService {
  readonly #stock: ClientProxy
  readonly #orders: Order[] = []

  constructor(@Inject(STOCK) stock: ClientProxy) {
    this.#stock = stock
  }

  async place({ customer, items }: PlaceOrderDto): Promise<Order> {
    for (const { article, quantity } of items) {
      const inStock = await firstValueFrom(this.#stock.send<number>('stock.count', article))
      if (inStock < quantity) throw new OrderError('OUT_OF_STOCK', `${inStock} of ${article} are left`)
    }
    const order = { id: this.#orders.length + 1, customer, items, shipped: false }
    this.#orders.push(order)
    return order
  }

  find(id: number): Order {
    const order = this.#orders[id - 1]
    if (order === undefined) throw new OrderError('NO_SUCH_ORDER', `There is no order ${id}`)
    return order
  }

  ship(id: number): void {
    this.#orders[id - 1] = { ...this.find(id), shipped: true }
  }
}
