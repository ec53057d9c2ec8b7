curl -sS "$MARKET_URL/v1/chat/completions" \
  -H "Authorization: Bearer $MARKET_KEY" \
  -H 'Content-Type: application/json' \
  -d '{"model": "gpt-5-mini", "messages": [{"role": "user", "content": "Say hello."}]}'
