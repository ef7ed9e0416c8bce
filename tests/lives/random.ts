/** Random choices from a seed: the same seed gives the same choices in every runtime. */
import { randomFrom } from '@elysia-microservices/test-support'

export class Random {
  /** From 0 (inclusive) to 1 (exclusive). */
  readonly next: () => number

  constructor(seed: number) {
    this.next = randomFrom(seed)
  }

  /** A whole number from `least` to `most`, both inclusive. */
  between(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1))
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  of<Item>(items: readonly Item[]): Item {
    return items[Math.floor(this.next() * items.length)] as Item
  }

  fill(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; at++) bytes[at] = Math.floor(this.next() * 256)
  }
}
