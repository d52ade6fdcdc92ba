"""Many leagues in one service: who owns which, how requests find them, who organises them."""
