// Filters the list of operations by what is typed; the page reads without it.
const field = document.querySelector('#filter')
field.hidden = false
field.addEventListener('input', () => {
  const words = field.value.toLowerCase().split(/\s+/)
  for (const group of document.querySelectorAll('nav details')) {
    let isShown = false
    for (const item of group.querySelectorAll('li')) {
      const link = item.querySelector('a')
      const text = `${link.textContent} ${link.title}`.toLowerCase()
      item.hidden = !words.every((word) => text.includes(word))
      isShown ||= !item.hidden
    }
    group.hidden = !isShown
  }
})
