/** The shelves of the picture. `price` is the length of the bar for a price. */
const SHELVES = [
  { y: 34, price: 250, below: '−12%' },
  { y: 86, price: 196, below: '−28%' },
  { y: 138, price: 152, below: '−40%' },
  { y: 190, price: 222, below: '−19%' },
] as const
const BEST = 2
const LEFT = 196

/** A picture of the market: a call goes to the cheapest of several shelves. The text beside it says the same. */
export function BookPicture() {
  return (
    <svg className="book-picture" viewBox="0 0 520 240" aria-hidden="true">
      <g className="paths">
        {SHELVES.map(({ y }, at) => (
          <path
            key={y}
            className={at === BEST ? 'best' : undefined}
            d={`M98 112 C150 112 140 ${y + 13} ${LEFT - 10} ${y + 13}`}
          />
        ))}
      </g>
      <g>
        <rect className="node" x="8" y="84" width="90" height="56" rx="12" />
        <path className="prompt" d="M26 104h38M26 120h54" />
      </g>
      <line className="list" x1={LEFT + 284} x2={LEFT + 284} y1="18" y2="228" />
      {SHELVES.map(({ y, price, below }, at) => (
        <g key={y} className={at === BEST ? 'shelf best' : 'shelf'}>
          <rect className="rest" x={LEFT} y={y} width="284" height="26" rx="6" />
          <rect className="price" x={LEFT} y={y} width={price} height="26" rx="6" />
          <text x={LEFT + price - 10} y={y + 17} textAnchor="end">
            {below}
          </text>
        </g>
      ))}
    </svg>
  )
}
