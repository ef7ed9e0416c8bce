/**
 * The services as their `.proto` files are made of them: with `memory()` in place of their transports, and never
 * started. The script `proto` writes the files, which programs in other languages need, and keeps the numbers of fields
 * beside them. Commit all of them.
 */
import { memory } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { newOrders } from './orders.ts'
import { newStock, type Stock } from './stock.ts'

export const stock = newStock(memory())
export const orders = newOrders(memory(), connect<Stock>({ transport: memory() }))
