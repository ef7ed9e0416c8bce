/** The shop's page, in the browser. */
/// <reference lib="dom" />
import { treaty } from '@elysiajs/eden'
import type { App } from '../services/gateway.ts'
import { follow } from './follow.ts'

const api = treaty<App>(location.origin)
const form = document.querySelector('form') as HTMLFormElement
const steps = document.querySelector('ol') as HTMLOListElement

form.addEventListener('submit', async (event) => {
  event.preventDefault()
  const given = new FormData(form)
  const order = { id: crypto.randomUUID(), sku: String(given.get('sku')), count: Number(given.get('count')) }
  steps.replaceChildren()
  for await (const line of follow(api, order)) {
    const item = document.createElement('li')
    item.textContent = line
    steps.append(item)
  }
})
