/** A class that the controllers of this example need. A container creates it, and it depends on no framework. */
export class Greetings {
  greet(name: string): string {
    return `Hello, ${name}!`
  }
}
