/** Something that a test waits for. */
export function happening<Value>() {
  let happen: (value: Value) => void = () => {}
  const happened = new Promise<Value>((resolve) => {
    happen = resolve
  })
  return { happened, happen: (value: Value) => happen(value) }
}
