/** A sleep that can be ended early. */
export class Sleep {
  #wake: (() => void) | undefined
  #isWoken = false

  /** Ends the current sleep, or makes the next sleep end at once. */
  wake(): void {
    this.#isWoken = true
    this.#wake?.()
  }

  async sleep(milliseconds: number): Promise<void> {
    if (!this.#isWoken)
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, milliseconds)
        this.#wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    this.#wake = undefined
    this.#isWoken = false
  }
}
