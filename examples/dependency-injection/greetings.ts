/** A class that the controllers of this example need: made by a container, known to no framework. */
export class Greetings {
  greet(name: string): string {
    return `Hello, ${name}!`
  }
}
