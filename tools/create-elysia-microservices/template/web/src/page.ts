/// <reference lib="dom" />
/** The script of the web page: shows all orders, updates them as they change, and has a form for new orders. */
import { connect } from '@elysia-microservices/websocket/client'
import type { door } from './door.ts'
import type { Orders } from './orders.ts'

const client = connect<Orders, typeof door>()
const list = document.querySelector('ul') as HTMLUListElement
const form = document.querySelector('form') as HTMLFormElement

form.addEventListener('submit', async (event) => {
  event.preventDefault()
  const item = String(new FormData(form).get('item'))
  const { id } = await client.request('orders.place', { item, quantity: 1 })
  await client.emit('orders.paid', { id })
})

for await (const { id, item, quantity, paid } of client.stream('orders.watch')) {
  const line = document.getElementById(`order-${id}`) ?? list.appendChild(document.createElement('li'))
  line.id = `order-${id}`
  line.textContent = `${quantity} ${item}: ${paid ? 'paid' : 'not paid'}`
}
