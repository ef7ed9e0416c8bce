/** The page: all orders, live, and a form for new ones. */
import { connect } from '@elysia-microservices/websocket/client'
import { type FormEvent, StrictMode, useState } from 'react'
import { createRoot } from 'react-dom/client'
import type { door, Order, orders } from '../orders.ts'
import { useStream } from './hooks.ts'

const client = connect<typeof orders, typeof door>()

const watch = () => client.stream('orders.watch')
const add = (board: ReadonlyMap<number, Order>, order: Order) => new Map(board).set(order.id, order)
const EMPTY: ReadonlyMap<number, Order> = new Map()

function Board() {
  const [board, error] = useStream(watch, add, EMPTY)
  const [dish, setDish] = useState('')
  const place = (event: FormEvent) => {
    event.preventDefault()
    setDish('')
    void client.request('orders.place', { dish })
  }
  return (
    <main>
      <h1>Orders</h1>
      <form onSubmit={place}>
        <label>
          Dish <input name="dish" value={dish} onChange={({ target }) => setDish(target.value)} />
        </label>
        <button type="submit">Order</button>
      </form>
      {error && <p role="alert">{error.message}</p>}
      <ul aria-live="polite">
        {[...board.values()].map(({ id, dish, state }) => (
          <li key={id}>
            {dish}: {state}{' '}
            {state !== 'served' && (
              <button type="button" onClick={() => void client.request('orders.advance', { id })}>
                Next
              </button>
            )}
          </li>
        ))}
      </ul>
    </main>
  )
}

createRoot(document.getElementById('board') as HTMLElement).render(
  <StrictMode>
    <Board />
  </StrictMode>
)
