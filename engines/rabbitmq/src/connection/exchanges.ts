/**
 * The exchanges that all clients and services share. They are created by the first program whose user may: all others
 * only check that they exist, which needs no rights.
 */
import type { DriverChannel } from '../driver.ts'
import { CALLS, EVENTS, EVERYONE, GROUPS, INBOXES, STORED } from '../words/names.ts'
import type { Link } from './link.ts'

/**
 * The exchanges with their types, in the order in which they are created. The last one is created when the others are
 * bound to each other.
 */
const EXCHANGES = [
  [CALLS, 'topic'],
  [STORED, 'topic'],
  [EVENTS, 'topic'],
  [INBOXES, 'direct'],
  [EVERYONE, 'fanout'],
  [GROUPS, 'topic']
] as const

/**
 * Creates exchanges that are missing.
 * @throws some are missing, and the user may not create them
 */
export async function haveExchanges(link: Link, channel: DriverChannel): Promise<void> {
  if (await exist(link)) return
  for (const [name, type] of EXCHANGES) {
    if (name === GROUPS) for (const to of [CALLS, STORED]) await channel.bindExchange(to, EVENTS, '#')
    await channel.declareExchange(name, type)
  }
}

async function exist(link: Link): Promise<boolean> {
  try {
    await link.aside(async (channel) => {
      for (const [name] of EXCHANGES) await channel.checkExchange(name)
    })
    return true
  } catch (error) {
    if (/404|NOT.FOUND/.test((error as Error).message)) return false
    throw error
  }
}
