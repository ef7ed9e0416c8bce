import { Controller, ParseIntPipe, UseFilters, UseGuards, UseInterceptors } from '@nestjs/common'
import { Ctx, EventPattern, MessagePattern, Payload, TcpContext } from '@nestjs/microservices'
import { from, map, type Observable } from 'rxjs'
import { AuditInterceptor } from '../audit/audit.interceptor.ts'
import { AuditLog } from '../audit/audit-log.ts'
import { CustomerGuard } from './customer.guard.ts'
import type { Order } from './order.ts'
import { OrderErrorFilter } from './order-error.filter.ts'
import { OrdersService } from './orders.service.ts'
import { PlaceOrderDto } from './place-order.dto.ts'

@Controller()
@UseFilters(OrderErrorFilter)
export class OrdersController {
  readonly #orders: OrdersService
  readonly #log: AuditLog

  constructor(orders: OrdersService, log: AuditLog) {
    this.#orders = orders
    this.#log = log
  }

  @MessagePattern({ cmd: 'place-order' })
  @UseGuards(CustomerGuard)
  @UseInterceptors(AuditInterceptor)
  place(@Payload() order: PlaceOrderDto): Promise<Order> {
    return this.#orders.place(order)
  }

  @MessagePattern('orders.find')
  find(@Payload('id', ParseIntPipe) id: number): Order {
    return this.#orders.find(id)
  }

  @MessagePattern('orders.articles')
  articles(@Payload('id') id: number): Observable<string> {
    return from(this.#orders.find(id).items).pipe(map(({ article }) => article))
  }

  @EventPattern<string>('order.shipped')
  shipped(@Payload('id') id: number, @Ctx() context: TcpContext): void {
    this.#orders.ship(id)
    this.#log.add(`${context.getPattern()} ${id}`)
  }

  @MessagePattern('orders.log')
  log(): readonly string[] {
    return this.#log.lines
  }
}
