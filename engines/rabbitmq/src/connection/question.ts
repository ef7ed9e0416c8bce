/** A question to the server. It is asked once for all who wait for the answer, and again for those who come later. */
export class Question<Answer> {
  readonly #look: () => Promise<Answer>
  #waiting: ((answer: Answer) => void)[] = []

  /** @param look asks the server; its promise is always fulfilled, so failures are answers */
  constructor(look: () => Promise<Answer>) {
    this.#look = look
  }

  /** Whether somebody waits for the answer. */
  get isAsked(): boolean {
    return this.#waiting.length > 0
  }

  /** Calls a function with the server's answer. Functions are called in the order of the calls. */
  ask(told: (answer: Answer) => void): void {
    if (this.#waiting.push(told) > 1) return
    void this.#look().then((answer) => {
      for (const told of this.#waiting.splice(0)) told(answer)
    })
  }
}
