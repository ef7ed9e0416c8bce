/** The field above a list that finds its entries by their names. */
export function Search({ text, set }: { readonly text: string; readonly set: (text: string) => void }) {
  return (
    <label class="search">
      <span>Find</span>
      <input type="search" value={text} onInput={({ currentTarget }) => set(currentTarget.value)} />
    </label>
  )
}
