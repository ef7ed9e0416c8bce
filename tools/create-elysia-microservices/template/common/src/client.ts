/** A program that calls the service `orders`. */
import { connect } from 'elysia-microservices/client'
import type { Orders } from './orders.ts'
import { newTransport } from './transport.ts'

const orders = connect<Orders>({ transport: newTransport('orders'), timeout: 5_000 })
try {
  const { id } = await orders.request('orders.place', { item: 'tea', quantity: 2 })
  await orders.emit('orders.paid', { id })
  console.log(await orders.request('orders.get', { id }))
} finally {
  await orders.close()
}
