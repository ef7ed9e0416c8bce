/** Places orders at the shop, for pictures of its console. */

/** Places orders, some of which fail, until the signal aborts. */
export async function order(shop: string, over: AbortSignal): Promise<void> {
  for (let n = 0; !over.aborted; n++) {
    const body = JSON.stringify({ id: crypto.randomUUID(), sku: n % 9 === 4 ? 'cake' : 'tea', count: 1 })
    const headers = { 'content-type': 'application/json' }
    await (await fetch(`${shop}/orders`, { method: 'POST', headers, body })).body?.cancel()
    if (n % 4 === 0) await (await fetch(`${shop}/stock/${n % 40 === 0 ? 'air' : 'tea'}`)).body?.cancel()
    if (n % 10 === 0) await (await fetch(`${shop}/payments`)).body?.cancel()
    await pause(60 + 60 * Math.abs(Math.sin(n / 50)))
  }
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}
